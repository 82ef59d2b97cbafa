// `jobs ls`, `show` and `rm` against a real server.
import { createJobManager } from '@syncline/jobs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type JobServer, openTasks, startJobServer } from '../testing/job-server.js';
import { createTestWorld, type TestWorldOptions } from '../testing/test-world.js';

let server: JobServer;
beforeAll(async () => {
  server = await startJobServer();
});
afterAll(() => server.stop());

async function run(line: string, options: TestWorldOptions = {}) {
  const world = createTestWorld(options);
  const exit = await world.run('jobs', ...line.split(' '), '--url', server.url);
  return { exit, stdout: world.stdout(), stderr: world.stderr() };
}

test('ls lists all jobs, filters by prefix and worst class, and prints lines of JSON', async () => {
  expect((await run('ls')).stdout).toBe('No jobs found.\n');
  await openTasks(server.store, 'ls-good', 2);
  const [bad] = await openTasks(server.store, 'ls-bad', 2);
  await bad?.setError('disk \u001b[2J full', { tag: 'ingest' });
  const { stdout, exit } = await run('ls --prefix ls-');
  expect(exit).toBe(0);
  expect(stdout).toMatch(
    /^ job +progress +done +run +todo +warn +fail +changed\n ls-bad .*\n ls-good .*\n$/,
  );
  expect((await run('ls --prefix ls- --worst failed')).stdout).not.toContain('ls-good');
  const lines = (await run('ls --prefix ls- --json')).stdout.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).job.jobId)).toEqual(['ls-bad', 'ls-good']);
  expect((await run('ls --prefix none')).stdout).toBe('No matching jobs.\n');
  expect(await run('ls --worst bad')).toMatchObject({
    exit: 2,
    stderr:
      'syncline: --worst is "bad"; expected one of failed, warned, not-started, running, finished.\n',
  });
});

test('ls reads all pages', async () => {
  for (let at = 0; at < 105; at += 1)
    await server.store.createJob({ jobId: `many-${String(at).padStart(3, '0')}`, numTasks: 1 });
  const { stdout } = await run('ls --prefix many- --json');
  expect(stdout.trimEnd().split('\n')).toHaveLength(105);
});

test('show prints a job, a task or one state, with control characters escaped', async () => {
  const [first] = await openTasks(server.store, 'show-1', 2);
  await first?.setState({
    tag: 'parse',
    status: 7,
    message: 'a\u001b[2Jb\nc',
    payload: { page: 3 },
  });
  const whole = await run('show show-1');
  expect(whole.stdout).toMatch(/^ show-1\n tasks +2\n/);
  expect(whole.stdout).toContain('task 1 has not started');
  const one = await run('show show-1 --task 0 --tag parse');
  expect(one.stdout).toContain('status   7 (running)');
  expect(one.stdout).toContain('message  a\\x1b[2Jb\\x0ac');
  expect(one.stdout).toContain('payload  {"page":3}');
  expect(one.stderr).toBe('');
  for (const line of ['show show-1 --tag prase', 'show show-1 --task 0 --tag prase --json']) {
    const { exit, stdout, stderr } = await run(line);
    expect({ exit, stdout }).toEqual({ exit: 4, stdout: '' });
    expect(stderr).toContain('has written tag "prase", and it is not expected; known tags: ');
  }
  for (const line of ['show show-1', 'show show-1 --json', 'show show-1 --task 0 --tag parse'])
    expect((await run(line)).stdout).not.toContain('\u001b');
  expect(JSON.parse((await run('show show-1 --json')).stdout)).toMatchObject({
    job: { jobId: 'show-1' },
    progress: { cells: { total: 4, running: 1 } },
    lost: [],
  });
});

test('show says why the row of all cells does not add up to those of the tags', async () => {
  const target = { store: server.store, jobId: 'show-2', taskIndex: 0, numTasks: 2 };
  await using job = await createJobManager(target);
  await job.setStarted({ tag: 'ingest' });
  expect((await run('show show-2')).stdout).not.toContain('leaves out');
  await job.setStarted({ tag: 'cleanup' }); // it is unknown whether task 1 will write it
  const { stdout } = await run('show show-2');
  expect(stdout).toContain('\n "all" leaves out unexpected tags that a task has not written.\n');
});

test('unknown jobs and wrong usage have their own exit codes', async () => {
  const stderr = 'syncline: no such job: "nobody". Run "syncline jobs ls" to list all jobs.\n';
  for (const line of ['show nobody', 'rm nobody --yes', 'rm nobody --mark --yes', 'watch nobody'])
    expect(await run(line)).toMatchObject({ exit: 4, stdout: '', stderr });
  const set = await run('set nobody --task 0 --tag ingest --started');
  expect(set).toMatchObject({
    exit: 4,
    stderr: stderr.replace('\n', ' To create it, add --tasks N.\n'),
  });
  expect(await run('show show-1 --task 7')).toMatchObject({
    exit: 2,
    stderr: 'syncline: --task is 7; job "show-1" has tasks 0 to 1.\n',
  });
  expect(await run('show show-1 --task one')).toMatchObject({ exit: 2, stdout: '' });
  expect(await run('show -- -bad-')).toMatchObject({ exit: 2 });
});

test('rm asks for confirmation on a terminal and requires --yes elsewhere', async () => {
  await openTasks(server.store, 'rm-1', 1);
  const program = await run('rm rm-1');
  expect(program).toMatchObject({ exit: 2, stdout: '' });
  expect(program.stderr).toContain('Use --yes.');
  const no = await run('rm rm-1', { typed: 'n' });
  expect(no.exit).toBe(1);
  expect(no.stderr).toMatch(
    /^Delete permanently: job rm-1 with 1 task\? \[y\/N\] syncline: .* was not changed\.\n$/,
  );
  expect(await server.store.getJob('rm-1')).toBeDefined();
  expect(await run('rm rm-1 --mark', { typed: 'y' })).toMatchObject({
    exit: 0,
    stderr: expect.stringContaining('Job rm-1 is marked as deleted.\n'),
  });
  expect((await server.store.getJob('rm-1'))?.deletedAtMs).toBeDefined();
  const json = await run('rm rm-1 --yes --json');
  expect(JSON.parse(json.stdout)).toMatchObject({ applied: true });
  expect(await server.store.getJob('rm-1')).toBeUndefined();
});
