// How a client handles failures of the service, the network or its configuration, row by row of the table of failures.
import { SynclineError } from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import { createClientRig, MAIN_SEED, SECONDARY_SEED, WINDOW_MS } from '../testing/client-rig.js';
import { deltaUpdatesOf, listCells } from '../testing/scripted-remote.js';

const unavailable = new SynclineError('unavailable', 'gone');

describe('the stream ends', () => {
  test('F5 in the same epoch the round is resent under its number, unchanged', () => {
    const { remote, report, pass, greet, reconnect, counts } = createClientRig();
    greet();
    report(0, 0.04);
    pass(100);
    const [sent] = deltaUpdatesOf(remote.stream.take());
    report(0, 0.04);
    remote.stream.fail(unavailable);
    reconnect();
    expect(remote.stream.take()).toMatchObject([{ kind: 'hello', lastEpoch: 1 }]);
    remote.stream.welcome({ epoch: 1 });
    const again = remote.stream.take();
    expect(deltaUpdatesOf(again)).toEqual([sent]);
    expect(again.map((request) => request.kind).slice(1)).toEqual([
      'state-request',
      'state-request',
    ]);
    remote.stream.snapshot(MAIN_SEED, [[0, 0, 0.04]], { ackedSeq: 1 });
    remote.stream.snapshot(SECONDARY_SEED);
    pass(100);
    expect(deltaUpdatesOf(remote.stream.take())).toMatchObject([{ seq: 2 }]);
    expect(counts).toMatchObject({ 'rounds_total resent': 1, 'rounds_total acked': 1 });
  });

  test('a service that has lost its state gets the views, and nothing stays pending', () => {
    const { remote, main, secondary, report, pass, greet, reconnect, client, counts } =
      createClientRig();
    greet();
    report(0, 0.04);
    report(5, 0.04);
    pass(100);
    secondary.overwrite(1, 0.5);
    secondary.overwrite(2, 1e-7);
    remote.stream.fail(unavailable);
    report(0, 0.04);
    reconnect();
    remote.stream.take();
    remote.stream.welcome({ epoch: 2, wantView: true });
    const views = remote.stream
      .take()
      .flatMap((request) =>
        request.kind === 'view-upload' ? [[Number(request.seed), listCells(request.cells)]] : [],
      );
    expect(views).toEqual([
      [MAIN_SEED, ['0:0 0.08', '1:2 0.04']],
      [SECONDARY_SEED, ['0:1 0.5']],
    ]);
    expect(client.status().pendingCells).toBe(0);
    remote.stream.snapshot(MAIN_SEED, [[0, 0, 0.75]], { epoch: 2 });
    remote.stream.snapshot(SECONDARY_SEED, [], { epoch: 2 });
    expect(client.status()).toMatchObject({ connected: true, epoch: 2 });
    expect(main.probabilities).toEqual([0.75, 0, 0, 0, 0, 0]);
    expect(counts['epoch_changes_total']).toBe(1);
    expect(counts['rounds_total resent']).toBeUndefined();
  });

  test('an epoch that changes mid-stream makes it reconnect, with the epoch that it holds', () => {
    const { remote, greet, reconnect, client, main } = createClientRig();
    greet();
    const { stream } = remote;
    stream.values(MAIN_SEED, [[0, 0, 0.5]], { epoch: 2 });
    expect([stream.isCancelled, client.isLive, main.probabilities[0]]).toEqual([true, false, 0]);
    reconnect();
    expect(remote.stream.take()).toMatchObject([{ kind: 'hello', lastEpoch: 1 }]);
  });

  test('a round that the service refuses is dropped immediately, and later rounds continue', () => {
    const { remote, report, pass, greet, reconnect, counts } = createClientRig();
    greet();
    report(0, 0.04);
    pass(100);
    report(1, 0.04);
    remote.stream.fail(new SynclineError('invalid-argument', 'deltas[0].row_id'));
    expect(counts).toMatchObject({ 'rounds_total dropped': 1, 'dropped_deltas_total rejected': 1 });
    reconnect();
    greet();
    pass(100);
    expect(deltaUpdatesOf(remote.stream.take())).toMatchObject([
      { seq: 2, deltas: ['0:1 0.04 [0, 1]'] },
    ]);
  });

  test('a night without the service is two lines in the log', () => {
    const { remote, greet, reconnect, lines } = createClientRig();
    greet();
    for (let attempt = 0; attempt < 20; attempt += 1) {
      remote.stream.fail(unavailable);
      reconnect();
    }
    greet();
    expect(lines).toHaveLength(3);
  });
});

describe('nothing is acknowledged for the retry budget', () => {
  test('while connected: everything pending is dropped and the stream reopened', () => {
    const { remote, report, pass, greet, client, counts } = createClientRig();
    greet();
    report(0, 0.04);
    pass(100);
    report(0, 0.04);
    report(1, 0.04);
    const { stream } = remote;
    pass(4_899);
    expect(stream.isCancelled).toBe(false);
    pass(1);
    expect(stream.isCancelled).toBe(true);
    expect(client.status().pendingCells).toBe(0);
    expect(counts).toMatchObject({ 'dropped_deltas_total budget': 2, 'rounds_total dropped': 1 });
    expect(stream.requests.filter((request) => request.kind === 'delta-update')).toHaveLength(1);
  });

  test('while disconnected: dropped too, and on reconnect the state of the service is used', () => {
    const { remote, main, report, pass, greet, reconnect, counts, client } = createClientRig();
    greet();
    remote.stream.fail(unavailable);
    report(0, 0.25);
    pass(5_000);
    expect(counts['dropped_deltas_total budget']).toBe(1);
    expect(main.probabilities[0]).toBeGreaterThanOrEqual(0.25);
    remote.stream.fail(unavailable);
    reconnect();
    remote.stream.take();
    remote.stream.welcome({ epoch: 1 });
    expect(remote.stream.take().map((request) => request.kind)).toEqual([
      'state-request',
      'state-request',
    ]);
    remote.stream.snapshot(MAIN_SEED, [[0, 1, 0.5]]);
    remote.stream.snapshot(SECONDARY_SEED);
    expect(client.isLive).toBe(true);
    expect(main.probabilities).toEqual([0, 0.5, 0, 0, 0, 0]);
  });

  test('acknowledgements in time keep it going', () => {
    const { remote, report, pass, greet, counts } = createClientRig();
    greet();
    for (let seq = 1; seq <= 20; seq += 1) {
      report(0, 0.001);
      pass(3_000);
      report(0, 0.001); // so that something is always pending
      remote.stream.say({ epoch: 1, ackedSeq: seq });
    }
    expect(remote.streams).toHaveLength(1);
    expect(counts).toEqual({ 'rounds_total acked': 20 });
  });
});

describe('snapshots', () => {
  test('cells that no chunk lists are 0, except for our own outcomes', () => {
    const { remote, main, report } = createClientRig();
    main.overwrite(2, 0.75);
    report(3, 0.25);
    remote.stream.welcome();
    const chunk = { isSnapshot: true, snapshotEnd: false };
    remote.stream.snapshot(MAIN_SEED, [[0, 0, 0.5]], chunk);
    expect(main.probabilities).toEqual([0.5, 0, 0.75, 0.25, 0, 0]);
    remote.stream.snapshot(MAIN_SEED, [[1, 1, 0.125]], chunk);
    remote.stream.snapshot(MAIN_SEED);
    expect(main.probabilities).toEqual([0.5, 0, 0, 0.25, 0.125, 0]);
  });

  test('F3 unknown cells and values that are not probabilities are ignored', () => {
    const { remote, main, greet } = createClientRig();
    greet();
    remote.stream.values(MAIN_SEED, [
      [2, 0, 0.5],
      [0, 3, 0.5],
      [-1, 0, 0.5],
      [0.5, 0, 0.5],
      [0, Number.POSITIVE_INFINITY, 0.5],
      [0, 0, Number.NaN],
      [0, 1, 1.001],
      [0, 2, -0.1],
      [1, 0, 1],
    ]);
    expect(main.probabilities).toEqual([0, 0, 0, 1, 0, 0]);
  });

  test('a stream that ends within a snapshot restarts it', () => {
    const { remote, main, reconnect } = createClientRig();
    remote.stream.welcome();
    remote.stream.snapshot(MAIN_SEED, [[0, 0, 0.5]], { snapshotEnd: false });
    remote.stream.fail(unavailable);
    reconnect();
    remote.stream.welcome();
    remote.stream.snapshot(MAIN_SEED, [[0, 1, 0.5]]);
    expect(main.probabilities).toEqual([0, 0.5, 0, 0, 0, 0]);
  });
});

test('a rotation requests the new structure, and what was pending for the old one is counted', () => {
  const { remote, main, secondary, report, pass, greet, reconnect, client, counts } =
    createClientRig();
  greet();
  report(0, 0.04);
  pass(100);
  report(1, 0.04);
  remote.stream.take();
  const next = SECONDARY_SEED + WINDOW_MS;
  const lost = main.pending.restart();
  main.seed = next;
  main.probabilities.fill(0);
  client.rotated(lost);
  expect(remote.stream.requests).toEqual([]);
  pass(0);
  expect(remote.stream.take()).toEqual([{ kind: 'state-request', seed: BigInt(next) }]);
  expect(counts['dropped_deltas_total rotated']).toBe(2);
  expect([client.isLive, secondary.seed]).toEqual([true, SECONDARY_SEED]);
  remote.stream.fail(unavailable);
  reconnect();
  remote.stream.welcome(); // nothing of the round is left to resend
  expect(deltaUpdatesOf(remote.stream.take())).toEqual([]);
});

describe('outage gain', () => {
  test.each([
    [4, 4],
    [1, 1],
    [100, 12.5],
  ])(
    'with %d instances each outcome counts %d times, until the first snapshot',
    (instances, gain) => {
      const { remote, main, report, pass, greet, reconnect, client } = createClientRig();
      greet();
      remote.stream.say({ epoch: 1, activeInstances: instances });
      remote.stream.fail(unavailable);
      pass(999);
      expect(client.gain).toBe(1);
      pass(1);
      expect(client.gain).toBe(gain);
      report(0, 0.01);
      expect(main.probabilities[0]).toBeCloseTo(0.01 * gain, 12);
      remote.stream.fail(unavailable);
      reconnect();
      remote.stream.welcome();
      expect(client.gain).toBe(gain);
      remote.stream.snapshot(MAIN_SEED);
      expect([client.gain, main.probabilities[0]]).toEqual([1, 0.01]); // pending has no gain
    },
  );

  test('can be turned off', () => {
    const { remote, pass, greet, client } = createClientRig({ outageGain: false });
    greet();
    remote.stream.say({ epoch: 1, activeInstances: 4 });
    remote.stream.fail(unavailable);
    pass(5_000);
    expect(client.gain).toBe(1);
  });
});

describe('close', () => {
  test('flushes once more, waits for the acknowledgement and ends the stream', async () => {
    const { remote, report, greet, client, counts, warnings } = createClientRig();
    greet();
    report(0, 0.04);
    const closing = client.close(1_000);
    expect(deltaUpdatesOf(remote.stream.take())).toMatchObject([{ seq: 1 }]);
    remote.stream.say({ epoch: 1, ackedSeq: 1 });
    await Promise.resolve();
    await Promise.resolve();
    expect(remote.stream.isEnded).toBe(true);
    remote.stream.fail(undefined);
    await closing;
    expect(remote.isClosed).toBe(true);
    expect(counts).toEqual({ 'rounds_total acked': 1 });
    expect(warnings).toEqual([]);
  });

  test('flushes as soon as a full stream has room', async () => {
    const { remote, report, greet, pass, client } = createClientRig({ flushIntervalMs: 900 });
    greet();
    remote.stream.isFull = true;
    report(0, 0.04);
    pass(900);
    remote.stream.say({ epoch: 1, ackedSeq: 1 });
    report(0, 0.04);
    remote.stream.take();
    const closing = client.close(1_000);
    expect(remote.stream.take()).toEqual([]);
    remote.stream.drain();
    expect(deltaUpdatesOf(remote.stream.take())).toMatchObject([{ seq: 2 }]);
    pass(1_000);
    await closing;
  });

  test('gives up at the deadline, and counts what was not acknowledged', async () => {
    const { remote, report, pass, greet, client, counts } = createClientRig();
    greet();
    report(0, 0.04);
    pass(100);
    report(1, 0.04);
    const closing = client.close(1_000);
    pass(1_000);
    await closing;
    expect(counts).toMatchObject({ 'dropped_deltas_total closed': 2, 'rounds_total dropped': 1 });
    expect([remote.stream.isCancelled, remote.isClosed]).toEqual([true, true]);
    pass(60_000);
    expect(remote.streams).toHaveLength(1);
  });

  test('waits for nothing without a stream', async () => {
    const { remote, report, client, counts } = createClientRig();
    remote.stream.fail(unavailable);
    report(0, 0.04);
    await client.close(1_000);
    expect(counts['dropped_deltas_total closed']).toBe(1);
    expect(remote.isClosed).toBe(true);
  });
});

describe('the original contract', () => {
  test('no hello, no numbers, plain values, and nothing is sent twice', () => {
    const { remote, main, report, pass, reconnect, client } = createClientRig({ wire: 'seed' });
    expect(remote.stream.take().map((request) => request.kind)).toEqual([
      'state-request',
      'state-request',
    ]);
    remote.stream.values(MAIN_SEED, [[0, 0, 0.5]], { epoch: 0 });
    expect(client.isLive).toBe(true);
    report(0, 0.25);
    remote.stream.values(MAIN_SEED, [[0, 0, 0.625]], { epoch: 0 });
    expect(main.probabilities[0]).toBe(0.625);
    pass(100);
    const update = { seq: 0, epoch: 0, deltas: ['0:0 0.25 [0, 1]'] };
    expect(deltaUpdatesOf(remote.stream.take())).toEqual([update]);
    report(0, 0.0625);
    pass(100); // without waiting for anything
    expect(deltaUpdatesOf(remote.stream.take())).toMatchObject([{ deltas: ['0:0 0.0625 [0, 1]'] }]);
    remote.stream.fail(unavailable);
    reconnect();
    expect(deltaUpdatesOf(remote.stream.take())).toEqual([]);
  });

  test('a fold is sent as its effect on the last value from the server', () => {
    const { remote, report, pass } = createClientRig({ wire: 'seed' });
    remote.stream.values(MAIN_SEED, [[0, 1, 1]], { epoch: 0 });
    remote.stream.take();
    for (let index = 0; index < 1_000; index += 1) report(0, -0.25);
    report(0, 0.25); // from 0: a sum would be far below 0
    report(1, 0.5);
    report(1, -0.25); // from 1: a sum would be above it
    report(2, -0.25); // changes nothing
    pass(100);
    expect(deltaUpdatesOf(remote.stream.take())).toMatchObject([
      { deltas: ['0:0 0.25 [0, 1]', '0:1 -0.25 [0, 1]'] },
    ]);
  });

  test('after a server restart failures are sent relative to 0', () => {
    const { remote, report, pass, reconnect } = createClientRig({ wire: 'seed' });
    remote.stream.values(MAIN_SEED, [[0, 0, 1]], { epoch: 0 });
    remote.stream.fail(unavailable);
    reconnect();
    remote.stream.take();
    remote.stream.values(MAIN_SEED, [], { epoch: 0 });
    report(0, 0.25);
    pass(100);
    expect(deltaUpdatesOf(remote.stream.take())).toMatchObject([{ deltas: ['0:0 0.25 [0, 1]'] }]);
  });

  test('outcomes lost with their stream do not count as received', () => {
    const { remote, report, pass, reconnect } = createClientRig({ wire: 'seed' });
    remote.stream.values(MAIN_SEED, [], { epoch: 0 });
    for (let index = 0; index < 4; index += 1) report(0, 0.25);
    pass(100); // we expect the server to say 1 next
    remote.stream.fail(unavailable);
    reconnect();
    remote.stream.take();
    remote.stream.values(MAIN_SEED, [], { epoch: 0 });
    report(0, 0.25);
    pass(100);
    expect(deltaUpdatesOf(remote.stream.take())).toMatchObject([{ deltas: ['0:0 0.25 [0, 1]'] }]);
  });

  test('silence for a second is an empty state', () => {
    const { remote, report, pass, client } = createClientRig({ wire: 'seed' });
    remote.stream.take();
    report(0, 0.25);
    pass(999);
    expect([client.isLive, remote.stream.requests.length]).toEqual([false, 0]);
    pass(101);
    expect(deltaUpdatesOf(remote.stream.take())).toHaveLength(1);
  });

  test('but we are connected only once the server has sent something', () => {
    const { remote, pass, client, lines } = createClientRig({ wire: 'seed' });
    pass(10_000);
    expect([client.isLive, client.status().connected, lines]).toEqual([true, false, []]);
    remote.stream.values(MAIN_SEED, [], { epoch: 0 });
    expect(client.status().connected).toBe(true);
    expect(lines).toEqual(['connected to the fair state service']);
  });

  test('outcomes that cannot be sent within the retry budget are dropped', () => {
    const { remote, report, pass, counts } = createClientRig({ wire: 'seed' });
    remote.stream.fail(unavailable);
    report(0, 0.25);
    pass(100);
    for (let ms = 0; ms < 5_000; ms += 100) {
      remote.stream.fail(unavailable);
      pass(100);
    }
    expect(counts['dropped_deltas_total budget']).toBe(1);
  });
});
