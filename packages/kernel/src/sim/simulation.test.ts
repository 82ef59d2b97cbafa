import { expect, test } from 'vitest';
import type { Clock } from '../clock.js';
import { SynclineError } from '../error.js';
import { runInSimulation } from './run-in-simulation.js';
import { Simulation } from './simulation.js';
import { SimulationFailure } from './simulation-failure.js';

const HOUR_MS = 3_600_000;

async function failureOf(run: Promise<unknown>): Promise<SimulationFailure> {
  const thrown = await run.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof SimulationFailure) return thrown;
  throw new Error(`expected a SimulationFailure, got ${String(thrown)}`);
}

test('a simulated day passes instantly', async () => {
  const simulation = new Simulation({ seed: 1, timeMsMax: 25 * HOUR_MS });
  await simulation.run(() => simulation.clock.sleep(24 * HOUR_MS));
  expect(simulation.nowMs).toBe(24 * HOUR_MS);
  expect(simulation.eventsCount).toBe(2);
});

test('the body of runInSimulation may take a day, too', async () => {
  const body = ({ clock }: { clock: Clock }) => clock.sleep(24 * HOUR_MS);
  await runInSimulation(1, body, { timeMsMax: 25 * HOUR_MS });
  const failure = await failureOf(runInSimulation(1, body));
  expect(failure.message).toMatch(
    /next event lies beyond timeMsMax, which is 3600000 ms \(seed 1, /,
  );
});

test('a body that waits for nothing simulated is a deadlock', async () => {
  const failure = await failureOf(runInSimulation(7, () => new Promise(() => {})));
  expect(failure.facts).toMatchObject({ kind: 'deadlock', seed: 7 });
  expect(failure.message).toMatch(/seed 7/);
});

test('budgets of time and events end a run, and it can be continued', async () => {
  const simulation = new Simulation({ seed: 1, timeMsMax: 1000 });
  const failure = await failureOf(simulation.run(() => simulation.clock.sleep(2000)));
  expect(failure.facts.kind).toBe('time-budget');

  const busy = new Simulation({ seed: 1, eventsMax: 100 });
  const spin = async () => {
    for (;;) await busy.clock.sleep(1);
  };
  expect((await failureOf(busy.run(spin))).facts.kind).toBe('event-budget');
});

test('an error in the body or a callback fails the run, with the end of the trace', async () => {
  const cause = new Error('as planned');
  const thrown = await failureOf(runInSimulation(1, () => Promise.reject(cause)));
  expect(thrown.facts.kind).toBe('thrown');
  expect(thrown.cause).toBe(cause);
  expect(thrown.facts.traceTail.join()).toMatch(/boot +test/);

  const inTimer = await failureOf(
    runInSimulation(1, async ({ clock }) => {
      clock.setTimer(5, () => {
        throw cause;
      });
      await clock.sleep(10);
    }),
  );
  expect(inTimer.cause).toBe(cause);
});

test('an unhandled rejection fails the run', async () => {
  const ours = process.listeners('unhandledRejection'); // the test runner would fail on it, too
  process.removeAllListeners('unhandledRejection');
  try {
    const failure = await failureOf(
      runInSimulation(1, async ({ clock }) => {
        void Promise.reject(new Error('floating'));
        await clock.sleep(10);
      }),
    );
    expect(failure.facts.kind).toBe('unhandled-rejection');
    expect(failure.message).toMatch(/floating/);
  } finally {
    for (const listener of ours) process.on('unhandledRejection', listener);
  }
});

test('K81 equal seeds give equal traces, and others differ', async () => {
  const traceOf = async (seed: number) => {
    const simulation = new Simulation({ seed });
    await simulation.run(async () => {
      const { clock, random } = simulation;
      const draw = random.fork('test');
      for (let count = 0; count < 100; count += 1) await clock.sleep(draw.float() * 100);
    });
    return simulation.trace.hash();
  };
  expect(await traceOf(1)).toBe(await traceOf(1));
  expect(new Set(await Promise.all([1, 2, 3, 4].map(traceOf))).size).toBe(4);
});

test('seeds try different orders of what happens at one moment', async () => {
  const orderOf = (seed: number) =>
    runInSimulation(seed, async ({ clock }) => {
      const order: number[] = [];
      await Promise.all([1, 2, 3].map((n) => clock.sleep(10).then(() => order.push(n))));
      return order.join('');
    });
  const orders = new Set<string>();
  for (let seed = 0; seed < 60; seed += 1) orders.add(await orderOf(seed));
  expect(orders.size).toBe(6);
});

test('calm ends every fault and starts nodes that are down', async () => {
  const simulation = new Simulation({ seed: 1 });
  const boots: string[] = [];
  const [a, b] = ['a', 'b'].map((name) => simulation.addNode(name, () => void boots.push(name)));
  await simulation.run(async () => {
    a?.start();
    b?.losePower();
    simulation.network.partition(['a'], ['b']);
    await simulation.clock.sleep(10);
    a?.pause();
    simulation.calm();
    await simulation.clock.sleep(10);
    expect(boots).toEqual(['a', 'b']);
    expect([a?.state, b?.state]).toEqual(['running', 'running']);
    expect(simulation.network.link('a', 'b').isOpen).toBe(true);
  });
});

test('a boot that fails with a SynclineError is retried, other errors fail the run', async () => {
  const simulation = new Simulation({ seed: 1 });
  let boots = 0;
  const node = simulation.addNode('a', async () => {
    boots += 1;
    if (boots < 3) throw new SynclineError('storage-full', 'no room');
  });
  await simulation.run(async () => {
    node.start();
    while (boots < 3) await simulation.clock.sleep(100);
  });

  const broken = new Simulation({ seed: 1 });
  const bad = broken.addNode('a', () => Promise.reject(new TypeError('a bug')));
  const run = broken.run(async () => {
    bad.start();
    await broken.clock.sleep(10);
  });
  expect((await failureOf(run)).message).toMatch(/a bug/);
});
