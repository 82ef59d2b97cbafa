// The contract of every StateStore: memory, embedded, and yours. The rules of a state must not depend on where it is
// stored, or moving it would change results.
//
// X14  All backends give the same results and the same snapshot bytes for the same operations.
import type { ConformanceCase } from '@syncline/kernel/testing';
import { aggregateCases } from './aggregate-cases.js';
import { inputCases } from './input-cases.js';
import { persistenceCases } from './persistence-cases.js';
import { restoreCases } from './restore-cases.js';
import { snapshotCases } from './snapshot-cases.js';
import type { Cases, StateStoreAbilities, StateStoreSubject } from './state-store-subject.js';
import { versionedCases } from './versioned-cases.js';

/** `create` is called once per case, and its result is disposed of afterwards. */
export function stateStoreSuite(
  create: () => Promise<StateStoreSubject & AsyncDisposable>,
  abilities: StateStoreAbilities,
): readonly ConformanceCase[] {
  const cases: Cases = {
    ...versionedCases,
    ...aggregateCases,
    ...inputCases,
    ...snapshotCases,
    ...restoreCases,
    ...(abilities.isPersistent && persistenceCases),
  };
  return Object.entries(cases).map(([name, check]) => ({
    name,
    async run() {
      await using subject = await create();
      await check(subject);
    },
  }));
}
