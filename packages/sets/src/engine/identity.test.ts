// Whose directory it is, and which epoch the next run takes.
import {
  actorId,
  EPOCH_MAX,
  type Files,
  type Random,
  SynclineError,
  VersionVector,
} from '@syncline/kernel';
import { createSeededRandom, runInSimulation, Simulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { chooseEpoch, type Identity, readIdentity, writeIdentity } from './identity.js';
import { CrashPlan, type CrashPoint, crashPointsAt } from './testing/crash-plan.js';

const options = { nodeId: 7, clusterId: 'dev' };
const open: Identity = { ...options, epoch: 41, state: 'open' };
const clean: Identity = { ...open, state: 'clean' };
const none = new VersionVector();

async function replaceFile(files: Files, path: string, bytes: Uint8Array): Promise<void> {
  if ((await files.stat(path)) !== undefined) await files.remove(path);
  await files.append(path, bytes);
}

/** The error that it rejects with. */
async function errorOf(promise: Promise<unknown>): Promise<SynclineError> {
  const thrown: unknown = await promise.then(
    () => new Error('it resolved'),
    (error: unknown) => error,
  );
  if (thrown instanceof SynclineError) return thrown;
  throw thrown;
}

test('a new directory has no identity', () =>
  runInSimulation(1, async ({ files }) => {
    expect(await readIdentity(files, options)).toBeUndefined();
  }));

test.each([open, clean, { ...open, epoch: 0 }, { ...clean, epoch: EPOCH_MAX }])(
  'what was written is read: $state, epoch $epoch',
  (identity) =>
    runInSimulation(1, async ({ files }) => {
      await writeIdentity(files, { ...identity, state: 'open', epoch: 1 });
      await writeIdentity(files, identity);
      expect(await readIdentity(files, options)).toEqual(identity);
      expect(await files.list('.')).toEqual(['identity']);
    }),
);

test.each(['ö', '"quoted"\n\u2028', 'x'.repeat(255), '\u0001'.repeat(255), '\ud83d\ude00'])(
  'any cluster id of 1 to 255 bytes can be stored: %j',
  (clusterId) =>
    runInSimulation(1, async ({ files }) => {
      await writeIdentity(files, { ...open, clusterId });
      const found = await readIdentity(files, { ...options, clusterId });
      expect(found).toEqual({ ...open, clusterId });
    }),
);

test.each(['', 'x'.repeat(256), 'ö'.repeat(128)])('a cluster id is refused: %j', (clusterId) =>
  runInSimulation(1, async ({ files }) => {
    const error = await errorOf(readIdentity(files, { ...options, clusterId }));
    expect(error).toMatchObject({ code: 'invalid-argument', details: { field: 'clusterId' } });
  }),
);

test('S21 damaged in any byte, cut off or followed by something, it is refused', () =>
  runInSimulation(1, async ({ files }) => {
    await writeIdentity(files, open);
    const good = await files.readAt('identity', 0, 4_096);
    const damages: Uint8Array[] = [];
    for (const at of good.keys()) {
      for (const mask of [1, 2, 4, 8, 16, 32, 64, 128, 0xff])
        damages.push(good.with(at, (good[at] ?? 0) ^ mask));
      damages.push(good.subarray(0, at));
    }
    for (const more of ['\n', ' ', '\0', '{}'])
      damages.push(Buffer.concat([good, Buffer.from(more)]));
    for (const damaged of damages) {
      await replaceFile(files, 'identity', damaged);
      const error = await errorOf(readIdentity(files, options));
      expect(error.code, Buffer.from(damaged).toString('latin1')).toBe('corrupt');
      expect(error.message).toContain('"identity"');
    }
  }));

test('data of another node or cluster is refused', () =>
  runInSimulation(1, async ({ files }) => {
    await writeIdentity(files, open);
    const otherNode = await errorOf(readIdentity(files, { ...options, nodeId: 8 }));
    expect(otherNode).toMatchObject({ code: 'conflict', details: { reason: 'node-id' } });
    expect(otherNode.message).toMatch(/node 7.*node 8/);
    const otherCluster = await errorOf(readIdentity(files, { ...options, clusterId: 'live' }));
    expect(otherCluster).toMatchObject({ code: 'conflict', details: { reason: 'cluster-id' } });
    expect(otherCluster.message).toMatch(/"dev".*"live"/);
  }));

test('data of an earlier version is refused and left alone', () =>
  runInSimulation(1, async ({ files }) => {
    await files.makeDir('db');
    await files.append('db/CURRENT', Buffer.from('MANIFEST-000001\n'));
    const error = await errorOf(readIdentity(files, options));
    expect(error).toMatchObject({ code: 'conflict', details: { reason: 'old-format' } });
    expect(error.message).toContain('db/');
    expect(error.message).toContain('Move it away');
    expect(await files.list('.')).toEqual(['db']);
  }));

const random = createSeededRandom(1);
const choose = (previous: Identity | undefined, version = none) =>
  chooseEpoch(previous, options.nodeId, version, random);
/** Draws this number. */
const drawing = (value: number): Random => ({ ...random, u32: () => value });
const versionOf = (nodeId: number, epochs: readonly number[]) =>
  VersionVector.of(...epochs.map((epoch) => ({ actor: actorId(nodeId, epoch), counter: 1 })));

test('S3 a clean stop keeps the epoch, a crash raises it', () => {
  expect(choose(clean)).toBe(41);
  expect(choose(open)).toBe(42);
  expect(choose(clean, versionOf(7, [40, 41, 42]))).toBe(41);
});

test('S3 after a crash epochs of this node that are in the version are skipped', () => {
  expect(choose(open, versionOf(7, [41, 42, 43, 45]))).toBe(44);
  expect(choose(open, versionOf(8, [42, 43]))).toBe(42);
});

test('S3 epochs wrap around', () => {
  expect(choose({ ...open, epoch: EPOCH_MAX })).toBe(0);
  expect(choose({ ...open, epoch: EPOCH_MAX - 1 }, versionOf(7, [EPOCH_MAX, 0, 1]))).toBe(2);
});

test('S3 the first epoch of a store is random', () => {
  const drawn = new Set(Array.from({ length: 50 }, () => choose(undefined)));
  expect(drawn.size).toBeGreaterThan(45);
  for (const epoch of drawn) expect(epoch).toBeLessThanOrEqual(EPOCH_MAX);
  const epoch = chooseEpoch(undefined, options.nodeId, none, drawing(5));
  const taken = versionOf(options.nodeId, [epoch]);
  expect(chooseEpoch(undefined, options.nodeId, taken, drawing(5))).toBe(
    (epoch + 1) % (EPOCH_MAX + 1),
  );
});

test('a node whose epochs are all used is refused', () => {
  const all = versionOf(
    options.nodeId,
    Array.from({ length: EPOCH_MAX + 1 }, (_, epoch) => epoch),
  );
  expect(choose(clean, all)).toBe(41);
  expect(() => choose(open, all)).toThrow(expect.objectContaining({ code: 'limit-exceeded' }));
});

/** Replaces an identity, dies on the way, and reads what is left. */
async function crashWhileWriting(
  point?: CrashPoint,
): Promise<{ readonly operations: readonly string[]; readonly found: Identity | undefined }> {
  const simulation = new Simulation({ seed: 1 });
  const old = open;
  const replacement = { ...open, epoch: 42 };
  let found: { readonly identity: Identity | undefined } | undefined;
  let operations: readonly string[] = [];
  let plan: CrashPlan | undefined;
  const node = simulation.addNode('n1', async ({ files }) => {
    if (plan === undefined) {
      await writeIdentity(files, old);
      await files.append('identity.tmp', Buffer.from('left by an earlier crash'));
      plan = new CrashPlan(node, point);
      node.disk.plan = plan;
      await writeIdentity(files, replacement);
      node.losePower(); // it is durable now
    } else {
      found = { identity: await readIdentity(files, options) };
      await writeIdentity(files, replacement);
      expect(await readIdentity(files, options)).toEqual(replacement);
      expect(await files.list('.')).toEqual(['identity']);
    }
  });
  await simulation.run(async () => {
    node.start();
    while (node.state !== 'down') await simulation.clock.sleep(1);
    operations = [...(plan?.operations ?? [])];
    node.start();
    await simulation.clock.sleep(100);
  });
  return { operations, found: found?.identity };
}

test('S3 a crash while it is replaced leaves the old one or the new one', async () => {
  const { operations, found } = await crashWhileWriting();
  expect(found?.epoch).toBe(42);
  expect(operations.length).toBe(6);
  const epochs = new Set<number | undefined>();
  for (const [at, operation] of operations.entries()) {
    const index = at + 1;
    for (const point of crashPointsAt(index, operation, 6)) {
      const left = await crashWhileWriting(point);
      expect([41, 42], JSON.stringify(point)).toContain(left.found?.epoch);
      if (index === 1) expect(left.found?.epoch).toBe(41);
      epochs.add(left.found?.epoch);
    }
  }
  expect(epochs.size).toBe(2);
});
