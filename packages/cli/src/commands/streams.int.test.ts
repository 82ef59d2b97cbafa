// `streams ls` and `inspect` on real checkpoint directories: intact, in use, damaged and missing.
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSystemClock, StorageBatch, silentLogger } from '@syncline/kernel';
import { openLevelStorage } from '@syncline/kernel/level';
import {
  aggregate,
  callbackSink,
  definePipeline,
  fileSink,
  memorySource,
  numberCodec,
  start,
} from '@syncline/streams';
import { makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { createTestWorld } from '../testing/test-world.js';

async function run(...args: readonly string[]) {
  const world = createTestWorld();
  const exit = await world.run('streams', ...args);
  return { exit, stdout: world.stdout(), stderr: world.stderr() };
}

const counting = (directory: string, isEndless = false) =>
  definePipeline('clicks', (p) => {
    const source = memorySource({
      uid: 'in',
      partitions: { a: ['ada', 'bob', 'ada'], ...(isEndless && { b: ['eve'] }) },
      beforeBatch: (partition) => (partition === 'b' ? new Promise<void>(() => {}) : undefined),
    });
    p.source(source)
      .keyBy((user) => user)
      .process({
        uid: 'totals',
        state: { total: aggregate(numberCodec) },
        onItem(_user: string, ctx) {
          ctx.emit(ctx.state.total.update((n = 0) => n + 1));
        },
      })
      .to(fileSink({ uid: 'out', dir: join(directory, 'out') }));
  });

test('a finished pipeline is listed, inspected and verified, and one of its keys is shown', async () => {
  await using directory = await makeTempDirectory('streams-cli');
  const dir = join(directory.path, 'state', 'clicks');
  const running = await start(counting(directory.path), { dir });
  await running.finished;
  const list = await run('ls', directory.path);
  expect(list.exit).toBe(0);
  expect(list.stdout).toMatch(/^pipeline +state +epoch +age +records +keys +bytes +path\n/);
  expect(list.stdout).toMatch(/clicks +finished +1 .* 3 +2 /);
  const one = await run(
    'inspect',
    dir,
    '--verify',
    '--operator',
    'totals',
    '--key',
    'ada',
    '--json',
  );
  expect(one).toMatchObject({ exit: 0, stderr: 'Verified: all checksums match.\n' });
  expect(JSON.parse(one.stdout)).toMatchObject({
    name: 'clicks',
    state: 'finished',
    epoch: 1,
    recordsIn: 3,
    states: [{ operator: 'totals', state: 'total', keys: 2, value: { hex: '4000000000000000' } }],
  });
  expect((await run('inspect', dir)).stdout).toMatch(
    /sink +committed +to be confirmed\nout +through epoch 1 +-\n/,
  );
  expect((await run('inspect', dir, '--operator', 'nothing')).exit).toBe(4);
});

test('for a directory in use, STATUS.json and the pid are shown, but it is not verified and no key is shown', async () => {
  await using directory = await makeTempDirectory('streams-cli');
  const dir = join(directory.path, 'clicks');
  const running = await start(counting(directory.path, true), { dir, order: 'ready' });
  await running.checkpoint();
  const { exit, stdout, stderr } = await run('inspect', dir);
  expect({ exit, stdout }).toMatchObject({
    exit: 0,
    stdout: expect.stringContaining('in use, running'),
  });
  expect(stderr).toMatch(/in use by process \d+/);
  expect((await run('inspect', dir, '--verify')).exit).toBe(5);
  for (const flags of [
    ['--operator', 'nothing'],
    ['--key', 'ada'],
  ]) {
    const refused = await run('inspect', dir, ...flags);
    expect(refused).toMatchObject({ exit: 5, stdout: '' });
    expect(refused.stderr).toMatch(
      /the directory is in use by process \d+\. Operators and keys can only be shown while no run uses it: stop that process\./,
    );
  }
  await running.stop();
});

test('a failed pipeline is listed as failed, and inspected with the reason', async () => {
  await using directory = await makeTempDirectory('streams-cli');
  const dir = join(directory.path, 'clicks');
  const broken = definePipeline('clicks', (p) => {
    p.source(memorySource({ uid: 'in', partitions: { a: [1] } }))
      .map(() => {
        throw new Error('cannot divide');
      })
      .to(fileSink({ uid: 'out', dir: join(directory.path, 'out') }));
  });
  const failing = await start(broken, { dir });
  await expect(failing.finished).rejects.toThrow(/cannot divide/);
  expect((await run('ls', directory.path)).stdout).toMatch(/clicks +failed +0 /);
  expect((await run('inspect', dir)).stdout).toMatch(/state +failed: .*cannot divide/);
});

test('a restarted run is not described by what the previous one reported', async () => {
  await using directory = await makeTempDirectory('streams-cli');
  const dir = join(directory.path, 'clicks');
  const begin = () => start(counting(directory.path, true), { dir, order: 'ready' });
  const first = await begin();
  await expect.poll(() => first.progress().recordsIn).toBeGreaterThan(0);
  await first.checkpoint();
  await first.stop();
  expect((await run('inspect', dir)).stdout).toMatch(
    /out .*epoch \d, by the next checkpoint or start/,
  );
  const { status: before } = JSON.parse((await run('inspect', dir, '--json')).stdout);
  expect(before).toMatchObject({ state: 'stopped', generation: 1 });
  const second = await begin();
  await expect
    .poll(async () => (await run('inspect', dir)).stdout, { timeout: 20_000 })
    .toMatch(/state +in use, running\n.*\ngeneration +2\n/);
  // As if it had been written before the second run began: by the first one.
  await writeFile(join(dir, 'STATUS.json'), JSON.stringify(before));
  const { stdout, stderr } = await run('inspect', dir);
  expect(stdout).toMatch(/^pipeline +clicks\nstate +in-use\n$/);
  expect(stderr).toMatch(/in use by process \d+; it is starting and has not reported anything yet/);
  await second.stop();
});

test('a missing pipeline and a damaged one are reported with their exit codes', async () => {
  await using directory = await makeTempDirectory('streams-cli');
  const path = directory.path;
  await writeFile(join(path, 'file'), '');
  for (const [argument, said] of [
    [path, `no pipelines found in ${path}.`],
    [`${path}/none`, `${path}/none does not exist.`],
    [`${path}/file`, `${path}/file is not a directory.`],
  ] as const)
    expect(await run('ls', argument)).toMatchObject({ exit: 4, stderr: `syncline: ${said}\n` });
  expect(await run('inspect', `${path}/none`)).toMatchObject({
    exit: 4,
    stderr: `syncline: ${path}/none does not exist.\n`,
  });
  expect((await run('inspect', directory.path)).exit).toBe(4);
  const dir = join(directory.path, 'clicks');
  const running = await start(counting(directory.path), { dir });
  await running.finished;
  const deps = { clock: createSystemClock(), logger: silentLogger };
  {
    await using storage = await openLevelStorage(deps, { directory: join(dir, 'db') });
    const head = storage.get(Buffer.from('head')) as Uint8Array;
    const damaged = head.map((byte, at) => (at === 20 ? byte ^ 1 : byte));
    const batch = new StorageBatch().put(Buffer.from('head'), damaged);
    await storage.write(batch, { durability: 'synced' });
  }
  const { exit, stderr } = await run('inspect', dir, '--verify');
  expect(exit).toBe(1);
  expect(stderr).toMatch(/Damaged: "head" of the checkpoint store/);
  await expect(start(counting(directory.path), { dir })).rejects.toMatchObject({ code: 'corrupt' });
  const other = join(directory.path, 'other');
  const sound = await start(counting(other), { dir: join(other, 'sound') });
  await sound.finished;
  await mkdir(join(directory.path, 'newer'));
  await writeFile(join(directory.path, 'newer/FORMAT'), 'syncline-streams 2\n');
  const list = await run('ls', directory.path);
  expect(list.exit).toBe(1);
  expect(list.stdout).toMatch(/ damaged .*\/clicks\n/);
  expect(list.stdout).toMatch(/ too-new .*\/newer\n/);
  expect(list.stdout).toMatch(/ finished .*\/sound\n/);
  expect(list.stderr).toContain('2 of 3 checkpoint directories cannot be used');
});

test('damaged rows of an outbox, and a damaged value, are never shown as sound', async () => {
  await using directory = await makeTempDirectory('streams-cli');
  const dir = join(directory.path, 'clicks');
  const pipeline = definePipeline('clicks', (p) => {
    p.source(memorySource({ uid: 'in', partitions: { a: ['ada', 'bob', 'ada'] } }))
      .keyBy((user) => user)
      .reduce({ uid: 'totals', initial: () => 0, add: (count: number) => count + 1 })
      .to(callbackSink({ uid: 'out', call: async () => {} }));
  });
  const running = await start(pipeline, { dir, state: 'embedded' });
  await running.finished;
  const damage = async (prefix: string) => {
    const deps = { clock: createSystemClock(), logger: silentLogger };
    await using storage = await openLevelStorage(deps, { directory: join(dir, 'db') });
    const batch = new StorageBatch();
    const range = { from: Buffer.from(`${prefix}/`), to: Buffer.from(`${prefix}0`) };
    for await (const { key, value } of storage.range(range)) {
      batch.put(
        key,
        value.map((byte, at) => (at === value.length - 6 ? byte ^ 1 : byte)),
      );
    }
    expect(batch.length).toBeGreaterThan(0);
    await storage.write(batch, { durability: 'synced' });
  };
  expect((await run('inspect', dir, '--verify')).exit).toBe(0);
  await damage('box');
  const verified = await run('inspect', dir, '--verify');
  expect(verified.exit).toBe(1);
  expect(verified.stderr).toMatch(/Damaged: box\/out\/0000000001\/000000 of the checkpoint store/);
  expect((await run('inspect', dir, '--key', 'ada')).exit).toBe(0);
  await damage('kv/totals/value');
  const shown = await run('inspect', dir, '--key', 'ada');
  expect(shown.exit).toBe(1);
  expect(shown.stderr).toMatch(/Damaged: an entry of state "totals\/value"/);
});

test('a damaged log of the store is reported, although the rest is intact', async () => {
  await using directory = await makeTempDirectory('streams-cli');
  const dir = join(directory.path, 'clicks');
  const running = await start(counting(directory.path), { dir });
  await running.finished;
  const db = join(dir, 'db');
  const [log = ''] = (await readdir(db)).filter((name) => name.endsWith('.log'));
  const bytes = await readFile(join(db, log));
  bytes.fill(0xff, 20, 28);
  await writeFile(join(db, log), bytes);
  const { exit, stdout, stderr } = await run('inspect', dir, '--verify');
  expect({ exit, stdout }).toMatchObject({ exit: 1, stdout: expect.stringContaining('damaged') });
  expect(stderr).toMatch(
    /Damaged: the log is damaged at byte 0 of db\/\d+\.log: what was written there is lost/,
  );
  expect(stderr).not.toContain('Verified');
});

test('a damaged last write is noted, and a sink that knows of it refuses the next start', async () => {
  await using directory = await makeTempDirectory('streams-cli');
  const dir = join(directory.path, 'clicks');
  for (let starts = 0; starts < 2; starts += 1) {
    const running = await start(counting(directory.path), { dir }, { logger: silentLogger });
    await running.finished;
  }
  const db = join(dir, 'db');
  const [log = ''] = (await readdir(db)).filter((name) => name.endsWith('.log'));
  const bytes = await readFile(join(db, log));
  bytes.fill(0xff, 20, 28); // the only record is the generation of the second start
  await writeFile(join(db, log), bytes);
  const { exit, stderr } = await run('inspect', dir, '--verify');
  expect(exit).toBe(0);
  expect(stderr).toMatch(
    /^Verified: all other checksums match\.\nNote: the last write, at byte 0 of db\//,
  );
  await expect(start(counting(directory.path), { dir })).rejects.toMatchObject({
    code: 'fenced',
    message: expect.stringContaining('or this directory has lost its latest record'),
  });
});

test('a store that has silently lost its last commits is reported as damaged', async () => {
  await using directory = await makeTempDirectory('streams-cli');
  const dir = join(directory.path, 'clicks');
  const running = await start(counting(directory.path), { dir });
  await running.finished;
  await rm(join(dir, 'db'), { recursive: true });
  const { exit, stderr } = await run('inspect', dir);
  expect(exit).toBe(1);
  expect(stderr).toContain('the store has no epoch, but STATUS.json names epoch 1');
  await expect(start(counting(directory.path), { dir })).rejects.toMatchObject({ code: 'corrupt' });
});
