// HTTP over real sockets: responses, refusals and disconnects.
import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Secret } from '../config/secret.js';
import { serverLimits } from '../limits.js';
import type { ServerStatus } from '../server-status.js';
import { EchoSlice } from '../testing/echo-slice.js';
import { openRawClient } from '../testing/raw-client.js';
import { startTestServer, type TestServer } from '../testing/test-server.js';
import { until } from '../testing/until.js';

describe('without a token', () => {
  const slice = new EchoSlice();
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer([slice]);
  });
  afterAll(() => server.stop());

  const url = (path: string): string => `http://127.0.0.1:${server.port('http')}${path}`;
  const get = (path: string, init?: RequestInit): Promise<Response> => fetch(url(path), init);
  const getStatus = async () => (await (await get('/api/status')).json()) as ServerStatus;

  test('/readyz lists each check, and says why one fails', async () => {
    const ready = await get('/readyz');
    expect(ready.status).toBe(200);
    expect(await ready.json()).toEqual({
      ready: true,
      checks: [
        { name: 'server', ok: true },
        { name: 'slice:echo', ok: true },
        { name: 'storage:echo', ok: true },
      ],
    });
    slice.health = { kind: 'not-ready', reason: 'reads /var/lib/syncline/log' };
    const waiting = await get('/readyz');
    expect(waiting.status).toBe(503);
    expect(await waiting.json()).toMatchObject({
      ready: false,
      checks: [{ ok: true }, { name: 'slice:echo', ok: false, reason: 'reads (path)' }, {}],
    });
    expect((await get('/healthz')).status).toBe(200); // a restart would not help
    slice.health = { kind: 'failed', reason: 'cannot sync /var/lib/syncline/log: disk gone' };
    const failed = await get('/healthz');
    expect(failed.status).toBe(503);
    expect(await failed.json()).toEqual({
      healthy: false,
      checks: [{ name: 'slice:echo', ok: false, reason: 'cannot sync (path): disk gone' }],
    });
    slice.health = { kind: 'ready' };
  });

  test('/metrics exports the build, every limit and its usage', async () => {
    const text = await (await get('/metrics')).text();
    expect(text).toContain('syncline_limit{package="server",limit="httpBodyBytesMax"} 262144');
    expect(text).toContain('syncline_limit{package="server",limit="httpConnectionsMax"} 1024');
    expect(text).toContain('syncline_limit{package="echo",limit="wordsMax"} 7');
    expect(text).toMatch(/syncline_limit\{package="kernel",limit="\w+"\} \d+/);
    expect(text).toMatch(/syncline_server_connections\{listener="http"\} [1-9]/);
    expect(text).toMatch(/syncline_build_info\{version="\d[^"]*",node_version="v\d[^"]*"\} 1/);
    expect(text).toContain('nodejs_eventloop_lag_p99_seconds');
    expect(text).toContain('process_resident_memory_bytes');
  });

  test('/version and /api/status describe the running server', async () => {
    const { version } = (await (await get('/version')).json()) as { version: string };
    expect(version).toMatch(/^\d+\.\d+\.\d+/);
    const status = await getStatus();
    expect(status).toMatchObject({
      nodeId: 1,
      clusterId: 'syncline',
      version,
      isReady: true,
      slices: [
        {
          name: 'echo',
          health: { kind: 'ready' },
          storage: { kind: 'ok' },
          details: { waiting: 0 },
        },
      ],
    });
    expect(status.listeners).toEqual(server.listeners);
    expect(status.uptimeMs).toBeGreaterThan(0);
  });

  test('the page is served at the URL of every view, with a strict policy', async () => {
    for (const path of ['/', '/jobs', '/jobs/nightly', '/sets', '/fair', '/streams']) {
      const page = await get(path);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      const policy = page.headers.get('content-security-policy') ?? '';
      expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'/);
      expect(policy).not.toMatch(/unsafe|http|\*/);
      expect(await page.text()).toContain('<title>Syncline</title>');
    }
  });

  test('files of the page are compressed and cacheable; others are not found', async () => {
    const html = await (await get('/')).text();
    const [, script = ''] = /src="(\/assets\/[^"]+\.js)"/.exec(html) ?? [];
    const { headers } = await get(script);
    expect(headers.get('content-encoding')).toBe('gzip');
    expect(headers.get('cache-control')).toMatch(/immutable/);
    expect((await get('/assets/..%2f..%2fpackage.json')).status).toBe(404);
    expect((await get('/assets/none.js')).status).toBe(404);
  });

  test('routes of slices are below /api and support parameters, bodies and statuses', async () => {
    expect(await (await get('/api/echo')).json()).toEqual({ slice: 'echo' });
    expect(await (await get('/api/echo/say/a%20b?x=1')).json()).toEqual({ text: 'a b' });
    const posted = await get('/api/echo/say', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"n":1}',
    });
    expect(posted.status).toBe(201);
    expect(await posted.json()).toEqual({ body: { n: 1 } });
    expect((await get('/api/echo/say', { method: 'DELETE' })).status).toBe(204);
  });

  test('every response has the security headers', async () => {
    for (const path of ['/', '/api/echo', '/nowhere', '/readyz']) {
      const { headers } = await get(path);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    }
  });

  test('HEAD responds like GET, without the body', async () => {
    const head = await get('/api/echo', { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.headers.get('content-length')).toBe('16');
    expect(await head.text()).toBe('');
    expect((await get('/api/echo/events', { method: 'HEAD' })).status).toBe(200);
  });

  test('an error of a slice is sent as a problem document; a bug reveals nothing', async () => {
    const missing = await get('/api/echo/say/not-found');
    expect(missing.status).toBe(404);
    expect(missing.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(await missing.json()).toMatchObject({
      code: 'not-found',
      detail: 'you asked for not-found',
    });
    expect((await get('/api/echo/say/overloaded')).status).toBe(503);
    const bug = await get('/api/echo/say/bug');
    expect(bug.status).toBe(500);
    const body = await bug.text();
    expect(body).not.toMatch(/secret insides|TypeError|at /);
    expect(JSON.parse(body)).toMatchObject({ outcome: 'unknown', retryable: false });
    expect(server.log.find(({ msg }) => msg === 'handler failed')?.fields).toMatchObject({
      route: '/api/echo/say/:text',
    });
  });

  test('an unknown path suggests existing ones; a wrong method lists those supported', async () => {
    const near = await (await get('/api/statsu')).json();
    expect(near).toMatchObject({
      code: 'not-found',
      detail: expect.stringMatching(/ does not exist\. Did you mean \/api\/status\?$/),
      details: { suggestions: ['/api/status'] },
    });
    const far = await (await get('/something/else/entirely')).json();
    expect(far).toMatchObject({
      detail: expect.stringMatching(/ does not exist\. Known paths: \/healthz, \/readyz, /),
      details: { suggestions: expect.arrayContaining(['/readyz']) },
    });
    const wrong = await get('/api/echo', { method: 'POST' });
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get('allow')).toBe('GET, HEAD');
  });

  test('bodies are checked: too large, too deep, not JSON, not UTF-8, wrong type', async () => {
    const post = (body: string | Uint8Array<ArrayBuffer>, type: string): Promise<Response> =>
      get('/api/echo/say', { method: 'POST', headers: { 'content-type': type }, body });
    const large = await post(JSON.stringify('x'.repeat(1024 * 1024)), 'application/json');
    expect(large.status).toBe(413);
    expect(await large.json()).toMatchObject({ details: { limit: 'httpBodyBytesMax' } });
    const nested = (depth: number) =>
      '['.repeat(depth) + JSON.stringify('["[\\"[') + ']'.repeat(depth);
    const { value: depthMax } = serverLimits.httpBodyDepthMax;
    expect(await (await post(nested(depthMax), 'application/json')).text()).not.toContain('levels');
    expect(await (await post(nested(depthMax + 1), 'application/json')).json()).toMatchObject({
      status: 400,
      details: { limit: 'httpBodyDepthMax' },
    });
    for (const body of ['{', '{"__proto__":1}', '"\\'.repeat(100_000)]) {
      const refused = await (await post(body, 'application/json')).json();
      expect(refused).toMatchObject({
        status: 400,
        detail: expect.stringContaining('is not valid JSON, or has a key "__proto__"'),
      });
    }
    const latin1 = await post(new Uint8Array([0x22, 0xe9, 0x22]), 'application/json');
    expect(await latin1.json()).toMatchObject({
      status: 400,
      detail: 'the body is not valid UTF-8',
    });
    for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
      const refused = await (await post('{}', type)).json();
      expect(refused).toMatchObject({
        status: 415,
        detail: expect.stringContaining('application/json'),
      });
    }
    expect((await getStatus()).limitsReached).toContainEqual(
      expect.objectContaining({ package: 'server', limit: 'httpBodyBytesMax', count: 1 }),
    );
    expect((await getStatus()).limitsReached).toContainEqual(
      expect.objectContaining({ package: 'server', limit: 'httpBodyDepthMax', count: 1 }),
    );
  });

  test.each([
    ['one header of 20 KiB', `x: ${'y'.repeat(20 * 1024)}\r\n`, 431],
    ['101 headers', 'x: y\r\n'.repeat(100), 431],
    ['100 headers', 'x: y\r\n'.repeat(99), 200],
  ])('%s', async (_name, headers, status) => {
    await using client = await openRawClient(server.port('http'));
    client.send(`GET /healthz HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`);
    await until(() => client.text().includes('\r\n\r\n'), 'an answer');
    expect(client.text()).toContain(`HTTP/1.1 ${status} `);
  });

  test('a path that cannot be decoded is 400, with the same headers', async () => {
    const broken = await get('/api/%zz');
    expect(broken.status).toBe(400);
    expect(broken.headers.get('x-content-type-options')).toBe('nosniff');
    expect(await broken.json()).toMatchObject({ code: 'invalid-argument' });
  });

  test('a URL above 4 KiB is 414', async () => {
    expect((await get(`/healthz?${'x'.repeat(4 * 1024)}`)).status).toBe(414);
    const path = '/api/echo/say/';
    const longest = await get(path.padEnd(4 * 1024, 'x'));
    expect(longest.status).toBe(200);
    const tooLong = await get(path.padEnd(4 * 1024 + 1, 'x'));
    expect(tooLong.status).toBe(414);
    expect(await tooLong.json()).toMatchObject({ details: { limit: 'httpUrlBytesMax' } });
  });

  test('bytes that are not HTTP get 400 and the connection ends', async () => {
    await using client = await openRawClient(server.port('http'));
    client.send('*1\r\n$4\r\nPING\r\n');
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1\.1 400 .*"not a valid HTTP request"/s);
  });

  test('a foreign Host header is refused, and so are writes from a page of another origin', async () => {
    const ask = async (host: string): Promise<string> => {
      await using client = await openRawClient(server.port('http'));
      client.send(`GET /api/status HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
      await client.closed;
      return client.text().slice(0, 12);
    };
    expect(await ask('rebound.example')).toBe('HTTP/1.1 421');
    expect(await ask('localhost:1234')).toBe('HTTP/1.1 200');
    const foreign = { method: 'DELETE', headers: { origin: 'http://rebound.example' } };
    expect((await get('/api/echo/say', foreign)).status).toBe(403);
  });

  test('events are streamed one by one, resume after an id, and end when the client disconnects', async () => {
    const gone = new AbortController();
    const stream = await get('/api/echo/events', {
      headers: { 'last-event-id': '4' },
      signal: gone.signal,
    });
    expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(stream.headers.get('x-accel-buffering')).toBe('no');
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toBe('event: hello\nid: 41\ndata: {"after":"4"}\n\n');
    await until(() => slice.waitingCount === 1, 'the stream waits');
    slice.release();
    expect((await reader?.read())?.value).toBe('event: tick\ndata: {"line":"one\\ntwo"}\n\n');
    gone.abort();
    await until(() => slice.journal.includes('client gone'), 'the slice is notified');
    slice.release();
  });

  test('many concurrent event streams leave no listeners on the drain signal', async () => {
    const warnings: string[] = [];
    const warn = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', warn);
    const listeners = (): number =>
      slice.deps === undefined ? 0 : getEventListeners(slice.deps.draining, 'abort').length;
    await until(() => listeners() === 1, 'the streams before are over');
    const streams = await Promise.all(Array.from({ length: 12 }, () => get('/api/echo/events')));
    expect(listeners()).toBe(13);
    for (const stream of streams) await stream.body?.cancel();
    await until(() => listeners() === 1, 'all are taken off');
    process.off('warning', warn);
    expect(warnings).toEqual([]);
    slice.release();
  });

  test('a stream whose source fails ends, and the reason is logged', async () => {
    const stream = await get('/api/echo/events', { headers: { 'last-event-id': 'bug' } });
    expect(await stream.text()).toBe('event: hello\nid: bug1\ndata: {"after":"bug"}\n\n');
    expect(server.log.at(-1)).toMatchObject({
      msg: 'handler failed',
      fields: { route: '/api/echo/events' },
    });
  });
});

describe('with a token', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer([new EchoSlice({ listeners: [] })], {
      credentials: { token: new Secret('right') },
    });
  });
  afterAll(() => server.stop());

  const status = async (path: string, token?: string): Promise<number> => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return (await fetch(`http://127.0.0.1:${server.port('http')}${path}`, { headers })).status;
  };

  test.each(['/metrics', '/version', '/api/status', '/api/echo', '/nowhere'])(
    '%s requires the token',
    async (path) => {
      expect(await status(path)).toBe(401);
      expect(await status(path, 'wrong')).toBe(401);
      expect(await status(path, 'right')).toBe(path === '/nowhere' ? 404 : 200);
    },
  );

  test.each(['/', '/healthz', '/readyz'])('%s requires no token', async (path) => {
    expect(await status(path)).toBe(200);
  });

  test('a 401 response says how to authenticate', async () => {
    const refused = await fetch(`http://127.0.0.1:${server.port('http')}/version`);
    expect(refused.headers.get('www-authenticate')).toBe('Bearer realm="syncline"');
    expect(await refused.json()).toMatchObject({ code: 'unauthenticated' });
  });
});
