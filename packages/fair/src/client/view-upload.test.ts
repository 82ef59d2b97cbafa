// A service that lost all its streams, but not its state, requests views in the epoch of a round in flight.
import { SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { createClientRig, MAIN_SEED, SECONDARY_SEED } from '../testing/client-rig.js';
import { deltaUpdatesOf, listCells } from '../testing/scripted-remote.js';

test('F5 cells in flight are left out of a view in the same epoch: the view may have them twice', () => {
  const { remote, main, report, pass, greet, reconnect, client } = createClientRig();
  greet();
  report(0, 0.04);
  report(5, 0.04);
  pass(100);
  const [sent] = deltaUpdatesOf(remote.stream.take());
  remote.stream.values(MAIN_SEED, [[0, 0, 0.04]]); // includes the round, whose acknowledgement is lost
  main.overwrite(3, 0.5);
  report(0, 0.04);
  report(4, 0.04);
  remote.stream.fail(new SynclineError('unavailable', 'gone'));
  reconnect();
  remote.stream.take();
  remote.stream.welcome({ epoch: 1, wantView: true });
  const requests = remote.stream.take();
  const views = requests.flatMap((request) =>
    request.kind === 'view-upload' ? [[Number(request.seed), listCells(request.cells)]] : [],
  );
  expect(views).toEqual([[MAIN_SEED, ['1:0 0.5']]]);
  expect(deltaUpdatesOf(requests)).toEqual([sent]);
  remote.stream.snapshot(MAIN_SEED, [[0, 0, 0.04]], { ackedSeq: 1 });
  remote.stream.snapshot(SECONDARY_SEED);
  pass(100);
  expect(deltaUpdatesOf(remote.stream.take())).toEqual([
    { seq: 2, epoch: 1, deltas: ['0:0 0.04 [0, 1]', '1:1 0.04 [0, 1]'] },
  ]);
  expect(client.status()).toMatchObject({ connected: true, pendingCells: 2 });
});

test('F5 a lost upload in the same epoch loses no outcomes', () => {
  const { remote, main, report, pass, greet, reconnect, client } = createClientRig();
  greet();
  remote.stream.values(MAIN_SEED, [[0, 1, 0.5]]);
  report(0, 0.04);
  pass(100);
  report(1, 0.25);
  remote.stream.fail(new SynclineError('unavailable', 'gone'));
  reconnect();
  remote.stream.take();
  remote.stream.welcome({ epoch: 1, wantView: true });
  const [view] = remote.stream.take();
  expect(view?.kind === 'view-upload' && listCells(view.cells)).toEqual(['0:1 0.5']);
  remote.stream.fail(new SynclineError('unavailable', 'gone'));
  reconnect();
  remote.stream.welcome({ epoch: 1 });
  remote.stream.snapshot(MAIN_SEED, [[0, 1, 0.5]], { ackedSeq: 1 });
  remote.stream.snapshot(SECONDARY_SEED);
  expect([client.isLive, main.probabilities[1]]).toEqual([true, 0.75]);
  remote.stream.take();
  pass(100);
  expect(deltaUpdatesOf(remote.stream.take())).toMatchObject([{ deltas: ['0:1 0.25 [0, 1]'] }]);
});

test.each([
  { served: 0.54, uploaded: 0.79, why: 'includes the round, whose acknowledgement is lost' },
  { served: 0.52, uploaded: 0.79, why: 'is the change of another before the round' },
  { served: 0.6, uploaded: 0.85, why: 'includes the round and changes of others' },
])('F5 a view in another epoch has a round once if the last value $why', ({ served, uploaded }) => {
  const { remote, report, pass, greet, reconnect } = createClientRig();
  greet();
  remote.stream.values(MAIN_SEED, [[0, 0, 0.5]]);
  report(0, 0.04);
  pass(100);
  remote.stream.values(MAIN_SEED, [[0, 0, served]]);
  report(0, 0.25);
  remote.stream.fail(new SynclineError('unavailable', 'gone'));
  reconnect();
  remote.stream.take();
  remote.stream.welcome({ epoch: 2, wantView: true });
  const [view] = remote.stream.take();
  expect(view?.kind === 'view-upload' && view.cells.probabilities[0]).toBeCloseTo(uploaded, 12);
});

test('outcomes sent with a view in another epoch are counted as dropped if no snapshot follows', () => {
  const { remote, report, pass, greet, reconnect, counts } = createClientRig();
  greet();
  report(0, 0.04);
  pass(100);
  report(1, 0.25);
  for (let attempt = 0; attempt < 2; attempt += 1) {
    remote.stream.fail(new SynclineError('unavailable', 'gone'));
    reconnect();
    remote.stream.welcome({ epoch: 2, wantView: true });
  }
  expect(counts).toMatchObject({ 'rounds_total uploaded': 1, 'dropped_deltas_total view': 2 });
  remote.stream.snapshot(MAIN_SEED, [], { epoch: 2 });
  remote.stream.snapshot(SECONDARY_SEED, [], { epoch: 2 });
  report(2, 0.25);
  remote.stream.fail(new SynclineError('unavailable', 'gone'));
  reconnect();
  expect(counts['dropped_deltas_total view']).toBe(2);
});

test('F6 a round that is acknowledged again before the snapshot stays in the view', () => {
  const { remote, main, report, pass, greet, reconnect } = createClientRig();
  greet();
  report(0, 0.04);
  pass(100);
  remote.stream.values(MAIN_SEED, [[0, 0, 0.25]]); // another's change: ours is not in it
  remote.stream.fail(new SynclineError('unavailable', 'gone'));
  reconnect();
  remote.stream.welcome({ epoch: 1 });
  remote.stream.say({ epoch: 1, ackedSeq: 1 });
  expect(main.probabilityAt(0)).toBeCloseTo(0.29, 12);
});
