// `jobs watch` against a real server: a table on a terminal, lines elsewhere, across lost connections.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { findFreePorts } from '@syncline/kernel/node';
import { makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { cliLimits } from '../limits.js';
import { type JobServer, openTasks, startJobServer } from '../testing/job-server.js';
import { createTestWorld, type TestWorld, type TestWorldOptions } from '../testing/test-world.js';

const screen = { columns: 80, rows: 24 };
const environment = { NO_COLOR: '1' };

/** What to do when a text appears in the output. */
type Act = readonly [text: string, act: (world: TestWorld) => unknown];

/** Runs the command to its end, performing one act after the other. */
async function watch(
  { url }: JobServer,
  flags: readonly string[],
  { acts = [], ...options }: TestWorldOptions & { readonly acts?: readonly Act[] },
) {
  const left = [...acts];
  const done: unknown[] = [];
  const world = createTestWorld({
    environment,
    ...options,
    onStdout(all) {
      const [next] = left;
      if (next === undefined || !all.includes(next[0])) return;
      left.shift();
      done.push(next[1](world));
    },
  });
  const exit = await world.run('jobs', 'watch', ...flags, '--url', url);
  await Promise.all(done);
  return { exit, stdout: world.stdout(), stderr: world.stderr() };
}

const kindsOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).kind);

test('prints one event per line until the job is finished', async () => {
  await using server = await startJobServer();
  const [one, two] = await openTasks(server.store, 'lines', 2);
  await one?.setFinished({ tag: 'ingest' });
  await one?.setFinished({ tag: 'parse' });
  await two?.setFinished({ tag: 'ingest' });
  const { exit, stdout, stderr } = await watch(server, ['lines', '--until-finished'], {
    acts: [['"kind":"synced"', () => two?.setFinished({ tag: 'parse' })]],
  });
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  const kinds = kindsOf(stdout);
  expect(kinds.filter((kind) => kind === 'snapshot')).toHaveLength(3);
  expect(kinds.slice(-2)).toEqual(['synced', 'change']);
});

test('exit codes: 1 with a failure, 0 for a finished scope, 4 if deleted or marked', async () => {
  await using server = await startJobServer();
  const [task] = await openTasks(server.store, 'ends', 1);
  await task?.setFinished({ tag: 'ingest' });
  await task?.setError('no', { tag: 'parse' });
  const over = await watch(server, ['ends', '--until-finished'], {});
  expect(over.exit).toBe(1);
  expect(over.stderr).toContain('ended unfinished: 1 of 2 cells failed.\n');
  await task?.setWarning('slow', { tag: 'ingest' });
  const both = await watch(server, ['ends', '--until-finished'], {});
  expect(both.stderr).toContain(': 1 of 2 cells failed, and 1 ended with a warning.\n');
  const warned = await watch(server, ['ends', '--until-finished', '--tag', 'ingest'], {});
  expect(warned.stderr).toContain(': 1 of 1 cell ended with a warning.\n');
  await task?.setFinished({ tag: 'ingest' });
  expect((await watch(server, ['ends', '--until-finished', '--tag', 'ingest'], {})).exit).toBe(0);
  const [open] = await openTasks(server.store, 'deleted', 1);
  const deletion = await watch(server, ['deleted', '--until-finished'], {
    acts: [['"kind":"synced"', () => open?.deleteJob()]],
  });
  expect(deletion).toMatchObject({ exit: 4, stderr: 'syncline: job deleted was deleted.\n' });
  expect(kindsOf(deletion.stdout).at(-1)).toBe('gap');
  const [left] = await openTasks(server.store, 'marked', 1);
  await left?.markJobDeleted();
  expect((await watch(server, ['marked', '--until-finished'], {})).exit).toBe(4);
});

test('after a cursor only later events are printed, and the end is still detected', async () => {
  await using server = await startJobServer();
  const [task] = await openTasks(server.store, 'resumed', 1);
  await task?.setFinished({ tag: 'ingest' });
  const first = await watch(server, ['resumed', '--until-finished'], {
    acts: [['"kind":"synced"', () => task?.setWarning('slow', { tag: 'parse' })]],
  });
  const { cursor } = JSON.parse(
    first.stdout.split('\n').find((line) => line.includes('synced')) ?? '',
  );
  await task?.setFinished({ tag: 'parse' });
  const second = await watch(server, ['resumed', '--until-finished', '--after', cursor], {});
  expect(second.exit).toBe(0);
  expect(kindsOf(second.stdout).slice(0, 3)).toEqual(['synced', 'change', 'change']);
  const wrong = await watch(server, ['resumed', '--after', 'nonsense'], {});
  expect(wrong).toMatchObject({ exit: 2, stdout: '' });
});

test('a table is drawn in place; Ctrl-C restores the screen with the last picture below', async () => {
  await using server = await startJobServer();
  const [task] = await openTasks(server.store, 'table', 1);
  await task?.setState({ tag: 'ingest', status: 5, message: 'page \u001b[2J1' });
  const { exit, stdout, stderr } = await watch(server, ['table'], {
    screen,
    acts: [
      ['page \\x1b[2J1', () => task?.setState({ tag: 'ingest', status: 6, message: 'page 2' })],
      ['page 2', (world) => world.send('SIGINT')],
    ],
  });
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  expect(stdout.startsWith('\u001b[?1049h\u001b[?25l')).toBe(true);
  const [live = '', final = ''] = stdout.split('\u001b[?25h\u001b[?1049l');
  expect(live).toContain('● live');
  expect(final).toMatch(/^ table {2}1 task {2,}■ stopped\n/);
  expect(final).toContain('page 2');
  expect(final).not.toContain('\u001b');
});

test('while the server is down the table shows the age of its data, then resumes', async () => {
  await using directory = await makeTempDirectory('watch');
  const dataDir = directory.path;
  const [httpPort = 0] = await findFreePorts(1); // no one else is given it during the restart
  const first = await startJobServer({ dataDir, httpPort });
  const [task] = await openTasks(first.store, 'again', 1);
  await task?.setFinished({ tag: 'ingest' });
  await task?.setStarted({ tag: 'parse' });
  let second: JobServer | undefined;
  let stopped: Promise<unknown> | undefined;
  const { exit, stdout } = await watch(first, ['again', '--until-finished'], {
    screen,
    acts: [
      [
        '● live',
        () => {
          stopped = first.stop();
        },
      ],
      [
        'attempt 2: cannot reach',
        async () => {
          await stopped; // until then it holds the directory
          second = await startJobServer({ dataDir, httpPort });
          const [again] = await openTasks(second.store, 'again', 1);
          await again?.setFinished({ tag: 'parse' });
        },
      ],
    ],
  });
  await second?.stop();
  expect(exit).toBe(0);
  expect(stdout).toContain('○ reconnecting');
  expect(stdout.split('\u001b[?1049l')[1]).toMatch(/✔ finished\n.* ingest .* 100\.0%/s);
});

test('a lost server produces a stale event with the wall-clock time since when', async () => {
  const server = await startJobServer();
  await openTasks(server.store, 'gone', 1);
  const startMs = Date.now();
  const { stdout } = await watch(server, ['gone'], {
    acts: [
      ['"kind":"synced"', () => server.stop()],
      ['"kind":"stale"', (world) => world.send('SIGINT')],
    ],
  });
  const { sinceMs } = JSON.parse(stdout.split('\n').find((line) => line.includes('stale')) ?? '');
  expect(sinceMs).toBeGreaterThanOrEqual(startMs);
  expect(sinceMs).toBeLessThanOrEqual(Date.now());
});

test('Ctrl-C before the end does not exit with 0', async () => {
  await using server = await startJobServer();
  await openTasks(server.store, 'waiting', 1);
  const world = createTestWorld({
    onStdout: (all) => all.includes('"kind":"synced"') && world.send('SIGINT'),
  });
  const args = ['jobs', 'watch', 'waiting', '--until-finished', '--url', server.url];
  expect(await world.run(...args)).toBe(1);
  expect(world.stderr()).toBe('syncline: stopped by SIGINT before the job ended.\n');
});

test('an event that does not end is abandoned with its connection', async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`: hello\n\ndata: ${'x'.repeat(cliLimits.eventBytesMax.value)}`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const world = createTestWorld({ environment });
  const watching = world.run('jobs', 'watch', 'x', '--url', `http://127.0.0.1:${port}`);
  await expect.poll(() => world.stderr()).toContain('too large to come from Syncline');
  world.send('SIGINT');
  await watching;
  server.closeAllConnections();
  server.close();
});
