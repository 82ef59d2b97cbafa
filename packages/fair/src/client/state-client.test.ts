import { SynclineError } from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import { CONFIG, createClientRig, MAIN_SEED, SECONDARY_SEED } from '../testing/client-rig.js';
import { deltaUpdatesOf } from '../testing/scripted-remote.js';

describe('connecting', () => {
  test('hello, then nothing before Welcome, then both structures, then live', () => {
    const { client, remote, report, pass, main } = createClientRig();
    expect(remote.stream.take()).toMatchObject([
      { kind: 'hello', tracker: 'api', clientId: 'c', lastEpoch: 0, config: CONFIG },
    ]);
    remote.stream.values(MAIN_SEED, [[0, 0, 0.5]]);
    expect(main.probabilities[0]).toBe(0);
    report(1, 0.04);
    pass(1_000);
    expect(remote.stream.take()).toEqual([]);
    remote.stream.welcome({ epoch: 1, activeInstances: 3 });
    expect(remote.stream.take()).toEqual([
      { kind: 'state-request', seed: BigInt(MAIN_SEED) },
      { kind: 'state-request', seed: BigInt(SECONDARY_SEED) },
    ]);
    remote.stream.snapshot(MAIN_SEED, [[1, 2, 0.5]]);
    expect(client.isLive).toBe(false);
    remote.stream.snapshot(SECONDARY_SEED);
    expect(client.status()).toMatchObject({ connected: true, epoch: 1, activeInstances: 3 });
    expect([main.probabilities[5], main.probabilities[1]]).toEqual([0.5, 0.04]);
  });

  test('retries after up to 100 ms, then up to 2 s, forever', () => {
    const { remote, pass } = createClientRig();
    for (let attempt = 1; attempt < 20; attempt += 1) {
      expect(remote.streams.length).toBe(attempt);
      remote.stream.fail(new SynclineError('unavailable', 'gone'));
      for (let ms = 0; remote.streams.length === attempt; ms += 1) {
        expect(ms).toBeLessThanOrEqual(Math.min(2_000, 100 * 2 ** (attempt - 1)));
        pass(1);
      }
    }
  });

  test('a refused configuration is retried every 30 s, and logged once', () => {
    const { client, remote, pass, greet, lines } = createClientRig();
    expect(client.status().refused).toBeUndefined();
    for (let attempt = 1; attempt < 4; attempt += 1) {
      remote.stream.fail(
        new SynclineError('conflict', 'levels differ', { details: { field: 'levels' } }),
      );
      pass(29_999);
      expect(client.status().refused).toEqual({ field: 'levels', message: 'levels differ' });
      expect(remote.streams.length).toBe(attempt);
      pass(1);
    }
    expect(lines.filter((line) => line.includes('refused'))).toHaveLength(1);
    greet();
    expect(client.status().refused).toBeUndefined();
  });

  test('a hello that is refused as invalid is retried every 30 s', () => {
    const { client, remote, pass } = createClientRig();
    remote.stream.fail(new SynclineError('invalid-argument', 'hello.tracker'));
    expect(client.status().refused).toMatchObject({ message: 'hello.tracker' });
    pass(29_999);
    expect(remote.streams).toHaveLength(1);
    pass(1);
    expect(remote.streams).toHaveLength(2);
  });

  test('a loss and its end are one warning each, however many attempts lie between', () => {
    const { remote, pass, greet, reconnect, warnings } = createClientRig();
    greet();
    for (let attempt = 0; attempt < 5; attempt += 1) {
      remote.stream.fail(new SynclineError('unavailable', 'gone'));
      reconnect();
    }
    greet();
    pass(10);
    expect(warnings).toEqual([
      'fair state service unreachable; this instance decides on its own',
      'connection to the fair state service restored',
    ]);
  });

  test('a service that never answers is left after the retry budget', () => {
    const { remote, pass } = createClientRig();
    pass(5_000);
    expect(remote.streams[0]?.isCancelled).toBe(true);
    pass(100);
    expect(remote.streams.length).toBe(2);
  });
});

describe('rounds', () => {
  test('one is in flight, the next waits for its acknowledgement', () => {
    const { remote, report, pass, greet, counts, client } = createClientRig();
    greet();
    report(0, 0.04);
    report(0, 0.04);
    report(4, -0.000_04);
    pass(100);
    expect(deltaUpdatesOf(remote.stream.take())).toEqual([
      { seq: 1, epoch: 1, deltas: ['0:0 0.08 [0, 1]', '1:1 -0.00004 [0, 1]'] },
    ]);
    report(0, 0.04);
    pass(1_000);
    expect(remote.stream.take()).toEqual([]);
    expect(client.status().pendingCells).toBe(2);
    remote.stream.values(MAIN_SEED, [[0, 0, 0.08]], { ackedSeq: 1 });
    pass(100);
    expect(deltaUpdatesOf(remote.stream.take())).toEqual([
      { seq: 2, epoch: 1, deltas: ['0:0 0.04 [0, 1]'] },
    ]);
    remote.stream.say({ epoch: 1, ackedSeq: 2 });
    expect(client.status().pendingCells).toBe(0);
    expect(counts['rounds_total acked']).toBe(2);
  });

  test('an interval of 0 flushes at the end of the turn, not in the call', () => {
    const { remote, report, pass, greet } = createClientRig({ flushIntervalMs: 0 });
    greet();
    report(0, 0.04);
    report(1, 0.04);
    expect(remote.stream.take()).toEqual([]);
    pass(0);
    expect(deltaUpdatesOf(remote.stream.take())[0]?.deltas).toHaveLength(2);
    report(0, 0.04);
    pass(0);
    remote.stream.say({ epoch: 1, ackedSeq: 1 });
    pass(0);
    expect(deltaUpdatesOf(remote.stream.take())).toMatchObject([{ seq: 2 }]);
  });

  test('in-flight and unsent outcomes are applied to values from the service', () => {
    const { remote, report, pass, greet, main } = createClientRig();
    greet();
    report(0, 0.25);
    pass(100);
    report(0, 0.125);
    remote.stream.values(MAIN_SEED, [[0, 0, 0.5]]); // another's change; ours is on its way
    expect(main.probabilities[0]).toBe(0.875);
    remote.stream.values(MAIN_SEED, [[0, 0, 0.75]], { ackedSeq: 1 });
    expect(main.probabilities[0]).toBe(0.875);
    pass(100);
    remote.stream.values(MAIN_SEED, [[0, 0, 0.875]], { ackedSeq: 2 });
    expect(main.probabilities[0]).toBe(0.875);
  });

  test('an acknowledgement after the values removes in-flight outcomes again', () => {
    const { remote, report, pass, greet, main } = createClientRig();
    greet();
    report(0, 0.25);
    pass(100);
    remote.stream.values(MAIN_SEED, [[0, 0, 0.25]]); // first message of a round: ours is in it already
    report(0, 0.125);
    remote.stream.values(SECONDARY_SEED, [], { ackedSeq: 1 });
    expect(main.probabilities[0]).toBe(0.375);
  });

  test('nothing is sent while the stream is full', () => {
    const { remote, report, pass, greet } = createClientRig();
    greet();
    remote.stream.isFull = true;
    report(0, 0.04);
    pass(100);
    remote.stream.take();
    remote.stream.say({ epoch: 1, ackedSeq: 1 });
    report(0, 0.04);
    pass(1_000);
    expect(remote.stream.take()).toEqual([]);
    remote.stream.drain();
    pass(100);
    expect(remote.stream.take().map((request) => request.kind)).toEqual(['delta-update']);
  });
});
