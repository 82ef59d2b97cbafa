import { describe, expect, test } from 'vitest';
import { createServiceRig, SEED, valuesOf, viewOf, WINDOW_MS } from '../testing/service-rig.js';

const wantsView = (client: { take(): readonly { welcome: { wantView: boolean } | undefined }[] }) =>
  client.take().find(({ welcome }) => welcome !== undefined)?.welcome?.wantView;

describe('views of clients', () => {
  test('are requested from clients with the state of an earlier start', () => {
    const { connect } = createServiceRig();
    const [fresh, held, current] = [connect(), connect(), connect()];
    fresh.hello('api', 'fresh');
    held.hello('api', 'held', { lastEpoch: 12_345 });
    current.hello('api', 'current', { lastEpoch: fresh.epoch });
    expect([fresh, held, current].map(wantsView)).toEqual([false, true, false]);
  });

  test('are requested for 5 s after all streams were lost and the first reconnected', () => {
    const { connect, pass } = createServiceRig();
    const first = connect();
    first.hello('api', 'first');
    const { epoch } = first;
    first.hangUp();
    pass(60_000);
    const come = (clientId: string) => {
      const client = connect();
      client.hello('api', clientId, { lastEpoch: epoch });
      return wantsView(client);
    };
    expect(come('one')).toBe(true);
    pass(5_000);
    expect(come('two')).toBe(true);
    pass(1);
    expect(come('three')).toBe(false);
  });

  test('are merged by the larger value, and cells that rose are sent to all', () => {
    const { connect, settle, pass } = createServiceRig();
    const [other, back] = [connect(), connect()];
    other.hello('api', 'other');
    other.deltas([
      [0, 0, 0.5],
      [0, 1, 0.5],
    ]);
    back.hello('api', 'back', { lastEpoch: 12_345 });
    pass(1_100);
    other.take();
    const cells = viewOf([
      [0, 0, 0.25],
      [0, 1, 0.75],
      [2, 9, 0.125],
    ]);
    back.send({ kind: 'view-upload', seed: SEED, cells });
    settle();
    expect(other.take().map((response) => [...valuesOf(response)])).toEqual([
      [
        ['0/1', 0.75],
        ['2/9', 0.125],
      ],
    ]);
  });

  test('are ignored and counted if they were not requested, or if the seed is too old', () => {
    const counts = new Map<string, number>();
    const metrics = {
      add: (name: string, amount = 1, labels: Readonly<Record<string, string>> = {}) => {
        const key = `${name} ${Object.values(labels).join(' ')}`;
        counts.set(key, (counts.get(key) ?? 0) + amount);
      },
      set() {},
      observe() {},
    };
    const { connect, settle } = createServiceRig({ metrics });
    const [unasked, asked] = [connect(), connect()];
    unasked.hello('api', 'unasked');
    asked.hello('api', 'asked', { lastEpoch: 12_345 });
    const cells = viewOf([[0, 0, 0.5]]);
    unasked.send({ kind: 'view-upload', seed: SEED, cells });
    const old = SEED - BigInt(10 * WINDOW_MS);
    asked.send({ kind: 'view-upload', seed: old, cells });
    settle();
    expect(counts.get('syncline_fair_views_total api ignored')).toBe(2);
    asked.send({ kind: 'view-upload', seed: SEED, cells });
    expect(counts.get('syncline_fair_views_total api joined')).toBe(1);
    asked.deltas([[0, 0, 0.1]]);
    asked.send({ kind: 'view-upload', seed: SEED, cells });
    expect(counts.get('syncline_fair_views_total api ignored')).toBe(3);
    expect([unasked.error, asked.error]).toEqual([undefined, undefined]);
  });
});
