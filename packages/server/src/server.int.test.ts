// Starting and stopping a whole server: what is open at each step, and what remains after a failure.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SynclineError } from '@syncline/kernel';
import { findFreePorts } from '@syncline/kernel/node';
import { makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { collect, createEchoClient, say, withToken } from './testing/echo-client.js';
import { EchoSlice } from './testing/echo-slice.js';
import { openRawClient } from './testing/raw-client.js';
import { startTestServer } from './testing/test-server.js';
import { until } from './testing/until.js';

/** With peers, a node opens its mesh listener. */
const PEERS = { mesh: { peers: ['2@127.0.0.1:1'] } };

test('a server without slices opens HTTP only', async () => {
  await using server = await startTestServer([]);
  expect(server.announced).toEqual(['http']);
  const ready = await fetch(`http://127.0.0.1:${server.port('http')}/readyz`);
  expect(ready.status).toBe(200);
  expect(await ready.json()).toEqual({ ready: true, checks: [{ name: 'server', ok: true }] });
});

test('every listener in use is announced as soon as it accepts connections', async () => {
  await using server = await startTestServer([new EchoSlice()], { settings: PEERS });
  expect(server.announced).toEqual(['mesh', 'grpc', 'resp', 'http']);
  await using alone = await startTestServer([new EchoSlice()]);
  expect(alone.announced).toEqual(['grpc', 'resp', 'http']);
  expect(server.listeners.every(({ port }) => port > 0)).toBe(true);
});

test('each slice has its own store, which survives a restart', async () => {
  await using directory = await makeTempDirectory('server');
  const settings = { dataDir: directory.path };
  for (const starts of [{ echo: 1 }, { echo: 2, second: 1 }, { echo: 3, second: 2 }]) {
    const slices = Object.keys(starts).map((name) => new EchoSlice({ name, listeners: [] }));
    await using server = await startTestServer(slices, { settings });
    const counted = slices.map(({ name, startsCount }) => [name, startsCount]);
    expect(Object.fromEntries(counted)).toEqual(starts);
    const owner = JSON.parse(await readFile(join(directory.path, 'owner.json'), 'utf8'));
    expect(owner).toMatchObject({ pid: process.pid });
    expect(await readFile(join(directory.path, 'echo', 'db', 'CURRENT'), 'utf8')).toMatch(
      /^MANIFEST/,
    );
    expect((await server.stop()).failures).toEqual([]);
  }
});

test('a second server on the same directory is refused, with the name of the holder', async () => {
  await using directory = await makeTempDirectory('server');
  const settings = { dataDir: directory.path };
  await using _first = await startTestServer([], { settings });
  await expect(startTestServer([], { settings })).rejects.toMatchObject({
    code: 'locked',
    message: expect.stringContaining(String(process.pid)),
  });
});

test('if a slice fails to start, nothing stays open', async () => {
  await using directory = await makeTempDirectory('server');
  const settings = { dataDir: directory.path };
  const good = new EchoSlice({ name: 'good', listeners: [] });
  const bad = new EchoSlice({ name: 'bad', startError: new Error('no') });
  await expect(startTestServer([good, bad], { settings })).rejects.toThrow('no');
  expect(good.journal).toEqual(['start', 'draining', 'stop']);
  await using again = await startTestServer([new EchoSlice({ name: 'bad' })], { settings });
  expect(again.announced).toContain('http');
});

test.each(['http', 'grpc', 'resp', 'mesh'] as const)(
  'a %s port in use is reported, and everything started before is stopped',
  async (listener) => {
    await using holder = await startTestServer([]);
    const slice = new EchoSlice();
    const port = holder.port('http');
    const [others = 0] = await findFreePorts(1);
    const mesh = { ...PEERS.mesh, port: others };
    const settings = {
      mesh,
      ...(listener === 'mesh' ? { mesh: { ...mesh, port } } : { [listener]: { port } }),
    };
    await expect(startTestServer([slice], { settings })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining(`127.0.0.1:${port}`),
    });
    expect(slice.journal).toEqual(['start', 'draining', 'stop']);
    await using _again = await startTestServer([new EchoSlice()], {
      settings: { mesh },
    });
  },
);

test('nothing is started beyond loopback without authentication', async () => {
  const slice = new EchoSlice();
  const settings = { listenHost: '0.0.0.0' };
  await expect(startTestServer([slice], { settings })).rejects.toMatchObject({
    code: 'invalid-argument',
  });
  expect(slice.journal).toEqual([]);
});

test('a stop drains: not ready, new requests refused, those in flight answered, slices stopped last', async () => {
  const first = new EchoSlice();
  const second = new EchoSlice({ name: 'second', listeners: [] });
  const server = await startTestServer([first, second]);
  const url = `http://127.0.0.1:${server.port('http')}`;
  const grpc = createEchoClient(server.port('grpc'));
  await using resp = await openRawClient(server.port('resp'));

  const slowHttp = fetch(`${url}/api/echo/say/wait`);
  const slowCall = say(grpc, 'wait');
  const stream = collect(grpc.repeat({ text: 'until drained' }, withToken()));
  const events = await fetch(`${url}/api/echo/events`);
  resp.send('WAIT');
  await until(() => first.waitingCount === 4, 'all wait');

  const stopped = server.stop();
  await until(() => first.journal.includes('draining'), 'the drain has begun');
  const ready = await fetch(`${url}/readyz`);
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({
    ready: false,
    checks: [{ name: 'server', ok: false, reason: 'the server is stopping' }, {}, {}, {}, {}],
  });
  expect((await fetch(`${url}/api/echo`)).status).toBe(503);
  expect(await events.text()).toMatch(/^event: hello\n/); // ended cleanly
  expect((await stream).error).toBeUndefined();
  await expect(openRawClient(server.port('resp'))).rejects.toThrow();
  await expect(openRawClient(server.port('grpc'))).rejects.toThrow();
  expect(first.journal).not.toContain('stop');

  first.release();
  expect(await (await slowHttp).json()).toEqual({ text: 'wait' });
  expect(await slowCall).toEqual({ text: 'wait' });
  await resp.closed;
  expect(resp.text()).toBe('WAITwaited\r\n');
  expect(await stopped).toEqual({ inTime: true, failures: [] });
  expect(first.journal).toEqual(['start', 'draining', 'client gone', 'stop']);
  expect(second.journal).toEqual(['start', 'draining', 'stop']);
  grpc.close();
});

test('a stop waits for an HTTP request even if nothing else is in flight', async () => {
  const slice = new EchoSlice({ listeners: [] });
  const server = await startTestServer([slice]);
  const answer = fetch(`http://127.0.0.1:${server.port('http')}/api/echo/say/wait`);
  await until(() => slice.waitingCount === 1, 'it waits');
  const stopped = server.stop();
  await until(() => slice.journal.includes('draining'), 'the drain has begun');
  setTimeout(() => slice.release(), 50);
  expect(await (await answer).json()).toEqual({ text: 'wait' });
  expect(await stopped).toEqual({ inTime: true, failures: [] });
});

test('requests that do not finish in time are aborted, and the slices still stop cleanly', async () => {
  const slice = new EchoSlice();
  const server = await startTestServer([slice], { settings: { shutdown: { graceMs: 6_000 } } });
  const grpc = createEchoClient(server.port('grpc'));
  await using resp = await openRawClient(server.port('resp'));
  const http = fetch(`http://127.0.0.1:${server.port('http')}/api/echo/say/wait`);
  const failed = http.then(
    () => 'answered',
    () => 'cut',
  );
  const call = say(grpc, 'wait');
  const stream = collect(grpc.repeat({ text: 'forever' }, withToken()));
  resp.send('WAIT');
  await until(() => slice.waitingCount === 3, 'all wait');
  expect(await server.stop()).toEqual({ inTime: true, failures: [] });
  expect(await failed).toBe('cut');
  expect((await call).error).toBeDefined();
  expect((await stream).error).toBeDefined();
  await resp.closed;
  expect(slice.journal).toEqual(['start', 'draining', 'stop']);
  grpc.close();
});

test('a slice that cannot continue is reported by `failed`, and by /healthz until the server is stopped', async () => {
  const slice = new EchoSlice({ listeners: [] });
  const other = new EchoSlice({ name: 'second', listeners: [] });
  await using server = await startTestServer([slice, other]);
  const copied = new SynclineError('conflict', 'the data directory is a copy');
  slice.deps?.fail(copied);
  slice.deps?.fail(new SynclineError('corrupt', 'too late'));
  other.deps?.fail(new SynclineError('corrupt', 'too late as well'));
  expect(await server.failed).toBe(copied);
  const health = await fetch(`http://127.0.0.1:${server.port('http')}/healthz`);
  expect(health.status).toBe(503);
  expect(await health.json()).toMatchObject({
    checks: [{ name: 'slice:echo', reason: 'the data directory is a copy' }, {}],
  });
  const logged = server.log.filter(({ msg }) => msg === 'slice failed');
  expect(logged.map(({ fields }) => [fields['slice'], fields['code']])).toEqual([
    ['echo', 'conflict'],
    ['second', 'corrupt'],
  ]);
  expect(await server.stop()).toEqual({ inTime: true, failures: [] });
});

test('a slice that never stops is abandoned, and the directory is released', async () => {
  await using directory = await makeTempDirectory('server');
  const settings = { dataDir: directory.path, shutdown: { graceMs: 50 } };
  const stuck = new EchoSlice({ stopWhen: new Promise(() => undefined) });
  const server = await startTestServer([stuck], { settings });
  const report = await server.stop();
  expect(report.inTime).toBe(false);
  expect(report.failures).toMatchObject([{ part: 'echo', error: { code: 'timeout' } }]);
  await using _again = await startTestServer([new EchoSlice()], { settings });
});

test('a second stop waits for the first', async () => {
  const slice = new EchoSlice();
  const server = await startTestServer([slice]);
  const [one, two] = await Promise.all([server.stop(), server.stop()]);
  expect(one).toBe(two);
  expect(slice.journal.filter((line) => line === 'stop')).toHaveLength(1);
});
