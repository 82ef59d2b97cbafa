// A reader that joins late, disconnects and comes back, and still sees every change exactly once.
//
//   npm run example -- replay-then-live
import { createSystemClock, Feed, MemoryFeedStore } from '@syncline/kernel';

interface Reading {
  readonly revision: number;
  readonly key: string;
  readonly celsius: number;
}

const clock = createSystemClock();
const store = new MemoryFeedStore<Reading>({
  logMax: 1000,
  pageMax: 100,
  isInScope: () => true,
  bytesOf: () => 64,
});
const feed = new Feed({ clock, store });

function measure(key: string, celsius: number): void {
  const reading = { revision: store.revision() + 1, key, celsius };
  store.commit(reading); // first the store, then the feed: readers never see a change that could still be lost
  feed.publish([reading]);
}

/** Reads until revision `until` and returns where to continue from. */
async function follow(until: number, after?: number): Promise<number> {
  await using subscription = feed.subscribe({
    scope: undefined,
    ...(after !== undefined && { after }),
  });
  for await (const event of subscription) {
    process.stdout.write(`  ${JSON.stringify(event)}\n`);
    if (event.kind === 'synced' && event.revision >= until) break;
    if (event.kind === 'change' && event.change.revision >= until) break;
  }
  return subscription.position?.revision ?? 0;
}

measure('kitchen', 19);
measure('cellar', 11);
measure('kitchen', 21);

process.stdout.write('A new reader gets the latest of each key, then the marker:\n');
const cursor = await follow(3);

process.stdout.write('It disconnects. In the meantime two changes are committed.\n');
measure('cellar', 12);
measure('attic', 30);

process.stdout.write(`It resumes after revision ${cursor} and misses nothing:\n`);
await follow(5, cursor);
