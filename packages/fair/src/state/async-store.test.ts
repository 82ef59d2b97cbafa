import { SynclineError } from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import type { ManualClock } from '../evaluation/manual-clock.js';
import { createServiceRig, deltasOf, SEED, valuesOf } from '../testing/service-rig.js';
import type { Applied, FairStore } from './fair-store.js';
import { createMemoryFairStore } from './memory-fair-store.js';

/** A store that answers asynchronously, when the test lets it, and that other services write to. */
function createSharedStore(clock: ManualClock) {
  const memory = createMemoryFairStore({ clock });
  const gates: (() => void)[] = [];
  const watchers = new Set<(change: Applied) => void>();
  let reachable: ((isReachable: boolean) => void) | undefined;
  const controls = {
    epoch: 4_711,
    isHeld: false,
    failsWith: undefined as SynclineError | undefined,
    instances: 1,
    /** Watchers that were closed twice. */
    closedAgain: 0,
    left: [] as string[],
    release: () => {
      for (const open of gates.splice(0)) open();
    },
    /** As another service would. */
    elsewhere: (column: number) => {
      const namespace = { ...apiNamespace };
      const change = memory.applyDelta(namespace, SEED, deltasOf([[0, column, 0.5]]));
      for (const watcher of watchers) watcher(change);
    },
    /** A seed that expired now only has this cell. */
    startOver: (column: number) => {
      memory.forget(apiNamespace, SEED);
      const change = memory.applyDelta(apiNamespace, SEED, deltasOf([[0, column, 0.5]]));
      for (const watcher of watchers) watcher({ ...change, startsOver: true });
    },
    setReachable: (isReachable: boolean) => reachable?.(isReachable),
  };
  const later = async <T>(answer: () => T): Promise<T> => {
    if (controls.isHeld) await new Promise<void>((resolve) => gates.push(resolve));
    if (controls.failsWith !== undefined) throw controls.failsWith;
    return answer();
  };
  const store: FairStore = {
    applyDelta: (...change) => {
      // Arguments are only valid during the call, so the change is made now and reported later.
      const applied = memory.applyDelta(...change);
      return later(() => applied);
    },
    joinView: (...view) => later(() => memory.joinView(...view)),
    getSeed: (...seed) => later(() => memory.getSeed(...seed)),
    evictBefore: (...bound) => later(() => memory.evictBefore(...bound)),
    seeds: (namespace) => later(() => memory.seeds(namespace)),
    forget: (...seed) => later(() => memory.forget(...seed)),
    watch: (_namespace, onChange) => {
      watchers.add(onChange);
      return {
        close() {
          if (!watchers.delete(onChange)) controls.closedAgain += 1;
        },
      };
    },
    shared: {
      greet: () => later(() => ({ epoch: controls.epoch })),
      keepAlive: () => later(() => controls.instances),
      left: (_namespace, clientId) => later(() => void controls.left.push(clientId)),
      onReachable: (listener) => {
        reachable = listener;
        return { close() {} };
      },
    },
    close: () => memory.close(),
  };
  return { store, controls, memory };
}

const apiNamespace = {
  name: 'api',
  rule: { policy: 'exponential', ratePerSecond: 0.01 },
  shape: { levels: 3, columns: 50 },
  windowMs: 300_000,
} as const;

function createSharedRig(
  prepare: (shared: ReturnType<typeof createSharedStore>) => void = () => {},
) {
  let shared: ReturnType<typeof createSharedStore> | undefined;
  const rig = createServiceRig({
    store: (clock) => {
      shared = createSharedStore(clock);
      prepare(shared);
      return shared.store;
    },
  });
  if (shared === undefined) throw new Error('the rig made no store');
  return { ...rig, ...shared };
}

/** Lets settled promises continue. */
const turns = async () => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
};

describe('a store that answers asynchronously', () => {
  test('an acknowledgement waits until its change is stored; messages keep their order', async () => {
    const { connect, settle, controls } = createSharedRig();
    const client = connect();
    client.hello('api', 'one');
    await client.handled;
    expect(client.take()).toMatchObject([{ welcome: { epoch: 4_711 } }]);
    controls.isHeld = true;
    client.deltas([[0, 0, 0.25]]);
    client.requestState();
    await turns();
    settle();
    expect(client.take()).toEqual([]);
    controls.isHeld = false;
    controls.release();
    await client.handled;
    expect(client.take()).toMatchObject([{ isSnapshot: true, ackedSeq: 1, cells: { count: 1 } }]);
  });

  test('existing cells, and changes by other services, reach the streams', async () => {
    const { connect, settle, controls } = createSharedRig();
    controls.elsewhere(1);
    const client = connect();
    client.hello('api', 'one');
    await client.handled;
    client.take();
    client.requestState();
    await client.handled;
    expect(client.take().map((response) => [...valuesOf(response).keys()])).toEqual([['0/1']]);
    controls.elsewhere(2);
    settle();
    expect(client.take().map((response) => [...valuesOf(response).keys()])).toEqual([['0/2']]);
  });

  test('the store is notified when a client leaves, but not when a newer stream of the same client replaces one', async () => {
    const { connect, controls } = createSharedRig();
    const [older, newer, other] = [connect(), connect(), connect()];
    for (const client of [older, newer]) client.hello('api', 'one');
    other.hello('api', 'other');
    for (const client of [older, newer, other]) await client.handled;
    older.hangUp();
    expect(controls.left).toEqual([]);
    other.hangUp();
    await turns();
    expect(controls.left).toEqual(['other']);
  });

  test('for a seed that started over, nothing older is sent', async () => {
    const { connect, controls } = createSharedRig();
    const client = connect();
    client.hello('api', 'one');
    await client.handled;
    controls.elsewhere(1);
    controls.startOver(2);
    client.take();
    client.requestState();
    await client.handled;
    expect(client.take().map((response) => [...valuesOf(response).keys()])).toEqual([['0/2']]);
  });

  test('a client that was alone here is asked for its view by the epoch alone', async () => {
    const { connect, controls } = createSharedRig();
    const comeBack = async (lastEpoch: number) => {
      const client = connect();
      client.hello('api', 'one', { lastEpoch });
      await client.handled;
      const [response] = client.take();
      client.hangUp();
      return response?.welcome?.wantView;
    };
    expect(await comeBack(0)).toBe(false);
    expect(await comeBack(4_711)).toBe(false);
    controls.epoch = 4_712;
    expect(await comeBack(4_711)).toBe(true);
    expect(await comeBack(4_712)).toBe(false);
  });

  test('a failure ends the stream as unavailable', async () => {
    const { connect, controls } = createSharedRig();
    const client = connect();
    client.hello('api', 'one');
    await client.handled;
    controls.failsWith = new SynclineError('timeout', 'no answer from the store');
    client.deltas([[0, 0, 0.25]]);
    await client.handled;
    expect(client.error?.code).toBe('timeout');
  });

  test('while it is lost streams end and hellos are refused; then everything is read again', async () => {
    const { connect, controls, service } = createSharedRig();
    const [named, plain] = [connect(), connect()];
    named.hello('api', 'one');
    await named.handled;
    controls.setReachable(false);
    expect([named.error?.code, plain.error?.code]).toEqual(['unavailable', 'unavailable']);
    expect(service.status()).toMatchObject({ streams: 0, trackers: 0, isReachable: false });
    const refused = connect();
    refused.hello('api', 'one');
    await refused.handled;
    expect(refused.error?.code).toBe('unavailable');
    controls.elsewhere(7);
    controls.epoch = 4_712;
    controls.setReachable(true);
    const back = connect();
    back.hello('api', 'one', { lastEpoch: 4_711 });
    await back.handled;
    expect(back.take()).toMatchObject([{ welcome: { epoch: 4_712, wantView: true } }]);
    back.requestState();
    await back.handled;
    expect(back.take()).toMatchObject([{ cells: { count: 1 } }]);
  });

  test('the instances of all services count', async () => {
    const { connect, controls, pass } = createSharedRig();
    const client = connect();
    client.hello('api', 'one');
    await client.handled;
    client.take();
    controls.instances = 5;
    await turns();
    pass(2_000);
    await turns();
    pass(1_000);
    expect(client.take().map(({ activeInstances }) => activeInstances)).toEqual([5]);
  });

  test('the default tracker is loaded and sent when the store answers again', async () => {
    const namespace = {
      name: '',
      rule: { policy: 'sum' },
      shape: undefined,
      windowMs: 300_000,
    } as const;
    const { connect, controls, pass, settle } = createSharedRig((shared) => {
      shared.memory.applyDelta(namespace, SEED, deltasOf([[4, 5, 0.5]]));
      shared.controls.failsWith = new SynclineError('timeout', 'no answer from the store');
    });
    const client = connect();
    await turns();
    client.requestState();
    await client.handled;
    expect(client.take()).toMatchObject([{ cells: { count: 0 } }]);
    pass(1_000);
    await turns();
    controls.failsWith = undefined;
    pass(1_000);
    await turns();
    settle();
    expect(client.take().map((response) => [...valuesOf(response)])).toEqual([[['4/5', 0.5]]]);
  });

  test('an abandoned hello does not affect the tracker of a later one', async () => {
    const { connect, controls, service, settle } = createSharedRig();
    const [early, late] = [connect(), connect()];
    controls.isHeld = true;
    early.hello('api', 'one');
    await turns();
    controls.setReachable(false);
    controls.isHeld = false;
    controls.setReachable(true);
    const back = connect();
    back.hello('api', 'two');
    await back.handled;
    controls.release();
    await early.handled;
    expect([early.error?.code, late.error?.code]).toEqual(['unavailable', 'unavailable']);
    expect(service.status()).toMatchObject({ streams: 1, trackers: 1 });
    expect(controls.closedAgain).toBe(0);
    back.take();
    controls.elsewhere(3);
    settle();
    expect(back.take().map((response) => [...valuesOf(response).keys()])).toEqual([['0/3']]);
  });

  test('a hello that the store refuses leaves the name free', async () => {
    const { connect, controls, service } = createSharedRig();
    controls.failsWith = new SynclineError('conflict', 'bound to another window', {
      details: { field: 'window_ms' },
    });
    const client = connect();
    client.hello('api', 'one');
    await client.handled;
    expect(client.error?.details['field']).toBe('window_ms');
    expect(service.status().trackers).toBe(0);
  });
});
