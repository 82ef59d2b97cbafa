// What every FairStore keeps: memory, embedded, Redis, and yours. Services and clients rely on nothing
// else, so that where the cells live is a matter of operation alone.
//
// F13  All stores give the same cells for the same operations, within 10^-12.
import type { ConformanceCase } from '@syncline/kernel/testing';
import type { FairStoreSubject } from './fair-store-subject.js';
import { changeCases } from './store-change-cases.js';
import { randomCases } from './store-random-cases.js';
import { seedCases } from './store-seed-cases.js';

/** `create` is called once per case, and what it made is disposed of after it. */
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
