// The contract of every FairStore: memory, embedded, Redis, and yours. Services and clients rely on nothing
// else, so where the cells are stored is purely an operational choice.
//
// F13  All stores give the same cells for the same operations, within 10^-12.
import type { ConformanceCase } from '@syncline/kernel/testing';
import { changeCases } from './store-change-cases.js';
import { randomCases } from './store-random-cases.js';
import type { FairStoreSubject } from './store-samples.js';
import { seedCases } from './store-seed-cases.js';

/** `create` is called once per case, and its result is disposed of afterwards. */
export function fairStoreSuite(
  create: () => Promise<FairStoreSubject & AsyncDisposable>,
): readonly ConformanceCase[] {
  const cases: Readonly<Record<string, (subject: FairStoreSubject) => Promise<void>>> = {
    ...changeCases,
    ...seedCases,
    ...randomCases,
  };
  return Object.entries(cases).map(([name, check]) => ({
    name,
    async run() {
      await using subject = await create();
      await check(subject);
    },
  }));
}
