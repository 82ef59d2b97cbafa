// Kills and power losses on a simulated disk: after each restart all states are as they were at one and
// the same flush, the last one that was acknowledged or a later one.
import { randomBelow } from '@syncline/kernel';
import { type SeededRandom, type SimPorts, Simulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { numberCodec, stringCodec } from '../state/codec.js';
import type { Key } from '../state/key.js';
import {
  type AggregateBackend,
  aggregate,
  type StateBackend,
  versioned,
} from '../state/state-backend.js';
import { embeddedState } from './embedded-state.js';

const SEEDS = 40;
const LIVES = 8;
const KEYS = 6;

interface States {
  readonly totals: AggregateBackend<Key, number>;
  readonly newest: StateBackend<Key, string, number>;
}

/** What was flushed, oldest first; entries before `acknowledged` cannot be found any more. */
interface Flushes {
  readonly contents: string[];
  acknowledged: number;
  /** Versions increase across all restarts, so that contents can be distinguished. */
  version: number;
  /** How often a restart found more than was acknowledged. */
  unacknowledgedFound: number;
}

function contentOf({ totals, newest }: States): string {
  const cells = Array.from({ length: KEYS }, (_, key) => [totals.get(key), newest.get(key)]);
  return JSON.stringify(cells);
}

function changeSomething({ totals, newest }: States, random: SeededRandom, flushes: Flushes): void {
  for (let count = randomBelow(random, 5); count >= 0; count -= 1) {
    flushes.version += 1;
    const key = randomBelow(random, KEYS);
    const draw = random.float();
    if (draw < 0.5) totals.update(key, (n = 0) => n + 1);
    else if (draw < 0.6) totals.update(key, () => undefined);
    else if (draw < 0.8) newest.put(key, `value ${flushes.version}`, flushes.version);
    else if (draw < 0.95) newest.delete(key, flushes.version);
    else newest.prune(flushes.version);
  }
}

async function life({ openStorage, clock, random }: SimPorts, flushes: Flushes): Promise<void> {
  const store = embeddedState(await openStorage('db'), { cacheBytesMax: 20_000 }, { clock });
  const states = {
    totals: await store.open('totals', aggregate(numberCodec)),
    newest: await store.open('newest', versioned(stringCodec, 'number')),
  };
  const found = flushes.contents.lastIndexOf(contentOf(states));
  expect(found, `found ${contentOf(states)}`).toBeGreaterThanOrEqual(flushes.acknowledged);
  if (found > flushes.acknowledged) flushes.unacknowledgedFound += 1;
  await Promise.all([states.totals.snapshot(), states.newest.snapshot()]); // nothing is damaged
  flushes.contents.length = found + 1;
  flushes.acknowledged = found;
  for (;;) {
    changeSomething(states, random, flushes);
    const index = flushes.contents.push(contentOf(states)) - 1;
    const flushing = store.flush();
    await clock.sleep(0);
    changeSomething(states, random, flushes); // not part of it
    await flushing;
    flushes.acknowledged = Math.max(flushes.acknowledged, index);
    await clock.sleep(random.float() * 5);
    if (random.float() > 0.1) continue;
    flushes.contents.push(contentOf(states)); // a restore stores everything as well
    await states.totals.restore(await states.totals.snapshot());
    flushes.acknowledged = flushes.contents.length - 1;
  }
}

test('X23 after any crash all states are as of one flush, no earlier than the last acknowledged one', async () => {
  let unacknowledgedFound = 0;
  let flushed = 0;
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const simulation = new Simulation({ seed });
    const empty = JSON.stringify(Array.from({ length: KEYS }, () => [null, null]));
    const flushes: Flushes = {
      contents: [empty],
      acknowledged: 0,
      version: 0,
      unacknowledgedFound: 0,
    };
    const node = simulation.addNode('node', (ports) => life(ports, flushes));
    const chance = simulation.random.fork('faults');
    await simulation.run(async () => {
      for (let count = 0; count < LIVES; count += 1) {
        node.start();
        await simulation.clock.sleep(chance.float() * 80);
        if (chance.float() < 0.5) node.kill();
        else node.losePower();
      }
    });
    unacknowledgedFound += flushes.unacknowledgedFound;
    flushed += flushes.contents.length;
  }
  expect(unacknowledgedFound).toBeGreaterThan(0);
  expect(flushed).toBeGreaterThan(SEEDS);
});
