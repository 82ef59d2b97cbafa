import { expect, test } from 'vitest';
import { Simulation } from '../simulation.js';
import type { calmLink } from './link-profile.js';

/** Sends 0 to 199, one per ms, and returns what arrived. */
async function sendMany(
  profile: Partial<typeof calmLink>,
  during: (simulation: Simulation) => void = () => {},
): Promise<readonly number[]> {
  const simulation = new Simulation({ seed: 1 });
  const [from, to] = [simulation.addNode('a', () => {}), simulation.addNode('b', () => {})];
  const arrived: number[] = [];
  const link = simulation.messageLink<number>(from, to, (message) => arrived.push(message));
  await simulation.run(async () => {
    from.start();
    to.start();
    simulation.network.adjust(profile);
    for (let message = 0; message < 200; message += 1) {
      if (message === 100) during(simulation);
      link.send(message);
      await simulation.clock.sleep(1);
    }
    await simulation.clock.sleep(10_000);
  });
  return arrived;
}

const sorted = (messages: readonly number[]) => [...messages].sort((a, b) => a - b);

test('a calm link delivers everything once', async () => {
  const arrived = await sendMany({});
  expect(sorted(arrived)).toEqual(Array.from({ length: 200 }, (_, index) => index));
});

test('messages are lost', async () => {
  const arrived = await sendMany({ lossProbability: 0.3 });
  expect(arrived.length).toBeGreaterThan(110);
  expect(arrived.length).toBeLessThan(170);
});

test('messages are duplicated, sometimes more than once', async () => {
  const arrived = await sendMany({ duplicateProbability: 0.4 });
  expect(new Set(arrived).size).toBe(200);
  expect(arrived.length).toBeGreaterThan(280);
});

test('messages overtake each other', async () => {
  const arrived = await sendMany({ jitterMs: 20 });
  expect(arrived).not.toEqual(sorted(arrived));
  expect(arrived.length).toBe(200);
});

test('a partition, a dead process and a paused one', async () => {
  const cut = await sendMany({}, ({ network }) => network.block(['a'], ['b']));
  expect(cut.length).toBeLessThanOrEqual(101);
  const killed = await sendMany({}, ({ nodes }) => nodes[1]?.kill());
  expect(killed.length).toBeLessThanOrEqual(101);
  const paused = await sendMany({}, ({ nodes }) => nodes[1]?.pause());
  expect(paused.length).toBeLessThanOrEqual(101);
});
