// `jobs set` and `jobs run` against a real server: reported states, and exit codes.
import { hostname } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type JobServer, openTasks, startJobServer } from '../testing/job-server.js';
import { createTestWorld } from '../testing/test-world.js';

let server: JobServer;
beforeAll(async () => {
  server = await startJobServer();
});
afterAll(() => server.stop());

async function jobs(...args: readonly string[]) {
  const world = createTestWorld();
  const at = args.indexOf('--');
  const [own, rest] = at === -1 ? [args, []] : [args.slice(0, at), args.slice(at)];
  const exit = await world.run('jobs', ...own, '--url', server.url, ...rest);
  return { exit, stdout: world.stdout(), stderr: world.stderr() };
}

const ingest = ['--task', '0', '--tag', 'ingest'];

function stateOf(jobId: string) {
  return server.store.getState(jobId, 0, 'ingest');
}

async function leaseOf(jobId: string): Promise<string | undefined> {
  const events = server.store.subscribe(jobId, { scope: {}, include: ['lease'] });
  let state: string | undefined;
  for await (const event of events) {
    if (event.kind === 'lease') ({ state } = event.lease);
    if (event.kind === 'synced') break;
  }
  return state;
}

test('set creates the job and writes every kind of state', async () => {
  const first = await jobs('set', 'shell', '--tasks', '2', ...ingest, '--started');
  expect(first).toMatchObject({ exit: 0, stderr: 'shell, task 0, ingest: running\n' });
  const custom = await jobs(
    'set',
    'shell',
    ...ingest,
    '--status',
    '20',
    '--progress',
    '0.4',
    '--message',
    'page 4',
  );
  expect(custom.stderr).toBe('shell, task 0, ingest: running, 40%\n');
  expect(await stateOf('shell')).toMatchObject({ status: 20, progress: 0.4, message: 'page 4' });
  expect((await server.store.aggregate('shell', {})).percent).toBe(20);
  await jobs('set', 'shell', ...ingest, '--progress', '0.5');
  expect(await stateOf('shell')).toMatchObject({ status: 2, progress: 0.5, message: '' });
  const world = createTestWorld();
  await world.run('jobs', 'show', 'shell', '--tag', 'ingest', '--task', '0', '--url', server.url);
  expect(world.stdout()).toContain('progress  50%');
  await jobs('set', 'shell', ...ingest, '--warning', 'slow');
  expect(await stateOf('shell')).toMatchObject({ status: -2, message: '🟡 slow' });
  await jobs('set', 'shell', ...ingest, '--error', 'disk full');
  expect(await stateOf('shell')).toMatchObject({ status: -1, message: '🔴 disk full' });
  const last = await jobs('set', 'shell', ...ingest, '--finished', '--json');
  expect(JSON.parse(last.stdout)).toMatchObject({ statusClass: 'finished', version: 6 });
  expect(await leaseOf('shell')).toBe('released');
});

test('set ignores a different number of tasks, and says so', async () => {
  await jobs('set', 'two', '--tasks', '2', ...ingest, '--started');
  const { exit, stderr } = await jobs('set', 'two', '--tasks', '5', ...ingest, '--progress', '0.5');
  expect(exit).toBe(0);
  expect(stderr).toBe(
    'Job two has 2 tasks; ignoring --tasks 5.\ntwo, task 0, ingest: running, 50%\n',
  );
});

test('set reports wrong usage before anything is written', async () => {
  const wrong: readonly (readonly [readonly string[], string])[] = [
    [['shell', ...ingest], 'exactly one of'],
    [['shell', ...ingest, '--started', '--finished'], 'exactly one of'],
    [['shell', ...ingest, '--status', '1.5'], '--status is "1.5"'],
    [['shell', ...ingest, '--started', '--progress', '40'], '--progress is "40"'],
    [['shell', ...ingest, '--error', 'x', '--message', 'y'], 'remove --message'],
    [['shell', '--tasks', 'two', ...ingest, '--started'], '--tasks is "two"'],
    [
      ['shell', '--task', '7', '--tag', 'a', '--started'],
      '--task is 7; job "shell" has tasks 0 to 1.',
    ],
    [['shell', ...ingest, '--status', '1'], '--status is "1"; expected 2 to 2147483646 (running)'],
    [['shell', ...ingest, '--status', '-2'], 'use --started, --finished'],
    [['shell', ...ingest, '--finished', '--progress', '0.2'], 'remove --progress 0.2'],
  ];
  const { revision } = (await server.store.getJob('shell')) ?? {};
  for (const [args, said] of wrong) {
    const { exit, stderr } = await jobs('set', ...args);
    expect([exit, stderr]).toEqual([2, expect.stringContaining(said)]);
  }
  expect(await jobs('set', 'nobody', ...ingest, '--started')).toMatchObject({ exit: 4 });
  expect((await server.store.getJob('shell'))?.revision).toBe(revision);
});

test('run reports a successful command as finished and releases its task', async () => {
  const { exit, stderr } = await jobs('run', 'cron', '--tasks', '1', ...ingest, '--', 'true');
  expect([exit, stderr]).toEqual([0, '']);
  expect(await stateOf('cron')).toMatchObject({ statusClass: 'finished', version: 2 });
  expect(await leaseOf('cron')).toBe('released');
});

test('run passes on the exit code and reports it as the error', async () => {
  const run = (...line: readonly string[]) =>
    jobs('run', 'codes', '--tasks', '1', ...ingest, '--', ...line);
  expect((await run('sh', '-c', 'exit 3')).exit).toBe(3);
  expect(await stateOf('codes')).toMatchObject({ status: -1, message: '🔴 exit code 3' });
  expect((await run('sh', '-c', 'kill -9 $$')).exit).toBe(137);
  expect((await stateOf('codes'))?.message).toBe('🔴 ended by SIGKILL');
  const { exit, stderr } = await jobs('run', 'codes', ...ingest, 'sh', '-c', 'exit 3');
  expect([exit, stderr]).toEqual([2, expect.stringContaining('Put "--" before the command')]);
  expect(await run('no-such-command')).toMatchObject({
    exit: 127,
    stderr: 'syncline: no-such-command could not be started: no such file or command\n',
  });
  expect((await stateOf('codes'))?.message).toBe(
    '🔴 no-such-command could not be started: no such file or command',
  );
  expect(await run('/')).toMatchObject({
    exit: 126,
    stderr: 'syncline: / could not be started: permission denied\n',
  });
});

test('run reports a command that the system refuses to start', async () => {
  const names = [
    ['', '"" could not be started: the name of a command must not be empty'],
    ['x'.repeat(5_000), `${'x'.repeat(100)} could not be started: the name is too long`],
  ] as const;
  for (const [name, failure] of names) {
    const refused = await jobs('run', 'odd', '--tasks', '1', ...ingest, '--', name);
    expect(refused).toEqual({ exit: 126, stdout: '', stderr: `syncline: ${failure}\n` });
    expect(await stateOf('odd')).toMatchObject({ status: -1, message: `🔴 ${failure}` });
    expect(await leaseOf('odd')).toBe('released');
  }
});

test('run forwards signals to the command', async () => {
  const world = createTestWorld();
  const line = ['run', 'stopped', '--tasks', '1', ...ingest, '--url', server.url];
  const ended = world.run('jobs', ...line, '--', 'sleep', '60');
  await expect.poll(async () => (await stateOf('stopped').catch(() => undefined))?.status).toBe(1);
  world.send('SIGTERM');
  expect(await ended).toBe(143);
  expect((await stateOf('stopped'))?.message).toBe('🔴 ended by SIGTERM');
});

test('run ends on a signal while it reports to a server that is gone', async () => {
  const gone = await startJobServer();
  const world = createTestWorld();
  const line = ['run', 'left', '--tasks', '1', ...ingest, '--url', gone.url];
  const ended = world.run('jobs', ...line, '--', 'sh', '-c', 'sleep 1; exit 3');
  await expect
    .poll(
      async () => (await gone.store.getState('left', 0, 'ingest').catch(() => undefined))?.status,
    )
    .toBe(1);
  await gone.stop();
  await new Promise((resolve) => setTimeout(resolve, 1_500)); // the command has ended
  world.send('SIGTERM');
  expect(await ended).toBe(3);
  expect(world.stderr()).toContain('could not report the end of the task to job left: interrupted');
});

test('run ends the command when the terminal closes, and the task has failed', async () => {
  const world = createTestWorld();
  const line = ['run', 'hung-up', '--tasks', '1', ...ingest, '--url', server.url];
  const ended = world.run('jobs', ...line, '--', 'sleep', '60');
  await expect.poll(async () => (await stateOf('hung-up').catch(() => undefined))?.status).toBe(1);
  world.send('SIGHUP');
  expect(await ended).toBe(129);
  expect((await stateOf('hung-up'))?.message).toBe('🔴 ended by SIGHUP');
});

test('a server that cannot be reached is reported immediately', async () => {
  const own = ['--tasks', '1', ...ingest, '--url', 'http://127.0.0.1:1'];
  for (const args of [
    ['set', 'lonely', ...own, '--started'],
    ['run', 'lonely', ...own, '--', 'true'],
  ]) {
    const world = createTestWorld();
    expect(await world.run('jobs', ...args)).toBe(3);
    expect(world.stderr()).toContain('cannot reach http://127.0.0.1:1 (connection refused)');
  }
});

test('set accepts tags that look like path segments', async () => {
  for (const tag of ['.', '..', 'a/../b']) {
    const line = ['set', 'dots', '--tasks', '1', '--task', '0', '--tag', tag, '--started'];
    expect(await jobs(...line)).toMatchObject({ exit: 0 });
    expect(await server.store.getState('dots', 0, tag)).toMatchObject({ status: 1 });
  }
});

test('run keeps the exit code of a command whose task was taken over', async () => {
  const world = createTestWorld();
  const line = ['run', 'taken', '--tasks', '1', ...ingest, '--url', server.url];
  const ended = world.run(
    'jobs',
    ...line,
    '--',
    'sh',
    '-c',
    'trap "exit 5" TERM; while :; do sleep 0.1; done',
  );
  await expect.poll(async () => (await stateOf('taken').catch(() => undefined))?.status).toBe(1);
  const [other] = await openTasks(server.store, 'taken', 1);
  await other?.setState({ tag: 'ingest', status: 30 });
  world.send('SIGTERM');
  expect(await ended).toBe(5);
  expect(world.stderr()).toBe(
    'syncline: could not report the end of the task to job taken: another process has claimed task 0.\n',
  );
  expect((await stateOf('taken'))?.status).toBe(30);
});

test('a takeover of a held task names the holder, and a free task is taken silently', async () => {
  const [holder] = await openTasks(server.store, 'held', 1);
  const taken = await jobs('set', 'held', ...ingest, '--started');
  const name = `${hostname()}:${process.pid}`;
  expect(taken.stderr).toContain(`Task 0 was held by ${name}; that process can no longer write.\n`);
  await expect(holder?.setStarted({ tag: 'ingest' })).rejects.toThrow('claimed by another process');
  const again = await jobs('set', 'held', ...ingest, '--progress', '0.5');
  expect(again.stderr).not.toContain('was held');
});

test('run says at once, and once, that its task was taken over', { timeout: 30_000 }, async () => {
  const world = createTestWorld();
  const line = ['run', 'lost', '--tasks', '1', ...ingest, '--url', server.url];
  const script = 'trap "exit 5" TERM; while :; do sleep 0.1; done';
  const ended = world.run('jobs', ...line, '--', 'sh', '-c', script);
  await expect.poll(async () => (await stateOf('lost').catch(() => undefined))?.status).toBe(1);
  const taken = await jobs('set', 'lost', ...ingest, '--progress', '0.5');
  expect(taken.stderr).toContain('Task 0 was held by');
  const notice =
    'syncline: another process has claimed task 0. The command keeps running, but is no longer reported.\n';
  await expect.poll(() => world.stderr(), { timeout: 20_000, interval: 100 }).toBe(notice); // the next heartbeat
  world.send('SIGTERM');
  expect(await ended).toBe(5);
  expect(world.stderr()).toBe(
    `${notice}syncline: could not report the end of the task to job lost: another process has claimed task 0.\n`,
  );
});
