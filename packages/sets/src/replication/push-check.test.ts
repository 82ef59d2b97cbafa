// The periodic pull is skipped only while pushes deliver everything that peers have.
import { actorId, type Clock, dot, VersionVector } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { PushCheck } from './push-check.js';

const versionAt = (counter: number) => VersionVector.of(dot(actorId(2, 1), counter));

/** A node that has applied 5 operations of a peer that has made 9. */
class World {
  own = versionAt(5);
  asked = 0;
  readonly turns = { operationsCount: 0, foreignCount: 5 };
  readonly check: PushCheck;

  constructor(clock: Clock) {
    this.check = new PushCheck({
      clock,
      turns: this.turns,
      version: () => this.own,
      channel: () => ({
        connectedPeers: () => [2],
        askVersions: async () => {
          this.asked += 1;
          return [versionAt(9)];
        },
      }),
    });
  }
}

test('a busy node skips the pull once it has everything its peers had', async () => {
  await runInSimulation(1, async ({ clock }) => {
    const world = new World(clock);
    const checking = world.check.deliverEverything();
    await clock.sleep(1_000);
    world.own = versionAt(9);
    expect(await checking).toBe(true);
  });
});

test('a busy node pulls when something does not arrive', async () => {
  await runInSimulation(1, async ({ clock }) => {
    const { check } = new World(clock);
    const startMs = clock.monotonicMs();
    expect(await check.deliverEverything()).toBe(false);
    expect(clock.monotonicMs() - startMs).toBeGreaterThanOrEqual(2_000);
  });
});

test('an idle node pulls without asking, so that digests are compared', async () => {
  await runInSimulation(1, async ({ clock }) => {
    const world = new World(clock);
    world.own = versionAt(9);
    expect(await world.check.deliverEverything()).toBe(true);
    expect(await world.check.deliverEverything()).toBe(false);
    expect(world.asked).toBe(1);
    world.turns.foreignCount += 1;
    expect(await world.check.deliverEverything()).toBe(true);
  });
});

test('a pull that is due ends the check', async () => {
  await runInSimulation(1, async ({ clock }) => {
    const { check } = new World(clock);
    const startMs = clock.monotonicMs();
    const checking = check.deliverEverything();
    await clock.sleep(100);
    check.cancel();
    expect(await checking).toBe(true);
    expect(clock.monotonicMs() - startMs).toBeLessThan(200);
  });
});
