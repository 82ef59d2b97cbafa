// The API of the dashboard: every route is described, responses match the description, and invalid input is refused.
import { JobStatus } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Slice } from '../slice.js';
import { createSlices } from '../slices/slices.js';
import { startTestServer, type TestServer } from '../testing/test-server.js';

let server: TestServer;
const registered = ['GET /api/status', 'GET /api/live', 'GET /api/openapi.json'];

/** The slice, with its routes recorded when it starts. */
function noting(slice: Slice): Slice {
  return {
    ...slice,
    async start(deps) {
      const running = await slice.start(deps);
      for (const { method, path } of running.http ?? [])
        registered.push(`${method} /api/${slice.name}${path}`);
      return running;
    },
  };
}

let url: string;

beforeAll(async () => {
  server = await startTestServer(createSlices().map(noting));
  url = `http://127.0.0.1:${server.port('http')}`;
});

afterAll(() => server.stop());

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly summary: string;
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly items?: Schema;
}

async function json(path: string): Promise<unknown> {
  const response = await fetch(url + path);
  expect(response.status, path).toBe(200);
  return await response.json();
}

/** The paths at which the response does not match the schema. Supports only what our schemas use. */
function* mismatches(schema: Schema, value: unknown, at: string): Iterable<string> {
  if (schema.type === 'array' && schema.items !== undefined) {
    if (!Array.isArray(value)) return yield `${at} is not an array`;
    for (const [index, item] of value.entries())
      yield* mismatches(schema.items, item, `${at}[${index}]`);
  }
  if (schema.type === 'object' && schema.properties !== undefined) {
    if (typeof value !== 'object' || value === null) return yield `${at} is not an object`;
    const record = value as Readonly<Record<string, unknown>>;
    for (const name of schema.required ?? [])
      if (!(name in record)) yield `${at}.${name} is missing`;
    for (const [name, inner] of Object.entries(record)) {
      const known = schema.properties[name];
      if (known !== undefined) yield* mismatches(known, inner, `${at}.${name}`);
      else if (schema.additionalProperties === false) yield `${at}.${name} is not described`;
    }
  }
  const isWrongKind =
    ['string', 'number', 'boolean'].includes(schema.type ?? '') && typeof value !== schema.type;
  if (isWrongKind) yield `${at} is ${typeof value}, not ${schema.type}`;
}

test('every route below /api is described, and nothing else', async () => {
  const { paths } = (await json('/api/openapi.json')) as OpenApi;
  const described = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map(
      (method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
    ),
  );
  expect(described.toSorted()).toEqual(registered.toSorted());
  expect(registered.length).toBeGreaterThan(10);
});

test('responses match their description', async () => {
  await using store = createRemoteJobStore({ address: `127.0.0.1:${server.port('grpc')}` });
  const { job } = await store.createJob({ jobId: 'a', numTasks: 2, expectedTags: ['x'] });
  const task = { jobId: 'a', incarnation: job.incarnation, taskId: 0 };
  const claim = { ...task, action: 'claim', epoch: 0, ttlMs: 0, holder: 'me' } as const;
  const { epoch } = await store.lease(claim);
  await store.setState({
    ...task,
    epoch,
    tag: 'x',
    status: JobStatus.started,
    message: '',
    schemaVersion: 1,
    eventId: 'e',
  });
  const reported = await fetch(`${url}/api/streams/p`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ pipeline: 'p', state: 'running', recordsIn: 3 }),
  });
  expect(reported.status).toBe(204);
  const { paths } = (await json('/api/openapi.json')) as OpenApi;
  const asked = {
    '/api/status': '/api/status',
    '/api/fair': '/api/fair',
    '/api/jobs': '/api/jobs',
    '/api/jobs/{job}': '/api/jobs/a',
    '/api/jobs/{job}/states': '/api/jobs/a/states',
    '/api/jobs/{job}/cell': '/api/jobs/a/cell?task=0&tag=x',
    '/api/sets': '/api/sets',
    '/api/streams': '/api/streams',
  };
  for (const [path, example] of Object.entries(asked)) {
    const schema = paths[path]?.['get']?.responses['200']?.content?.['application/json']?.schema;
    expect(schema, path).toBeDefined();
    expect([...mismatches(schema ?? {}, await json(example), example)]).toEqual([]);
  }
});

test.each([
  ['/api/live', /unknown view ""; expected one of: overview, fair/],
  ['/api/live?view=everything', /unknown view "everything"/],
  [
    '/api/live?view=overview&tag=1',
    /^unknown parameter "tag"; allowed, each at most once: view\.$/,
  ],
  ['/api/live?view=overview&view=jobs', /^repeated parameter "view"; allowed/],
  ['/api/live?view=sets&from=x', /from is "x"; expected an integer/],
  ['/api/live?view=set&set=%3Cb%3E', /expected the name of a set as base64url/],
  ['/api/live?view=jobs&worst=bad', /worst is "bad"/],
])('%s is refused with an explanation', async (path, words) => {
  const response = await fetch(url + path);
  expect(response.status).toBe(400);
  expect(((await response.json()) as { readonly detail: string }).detail).toMatch(words);
});

test('a job that does not exist is answered with 404 instead of a stream that breaks off', async () => {
  const response = await fetch(`${url}/api/live?view=job&job=none`);
  expect(response.status).toBe(404);
});

test.each([
  [{ state: '' }, /^state is ""; expected a non-empty string\.$/],
  [{ state: 'running', recordsIn: -1 }, /^recordsIn is -1; expected at least 0\.$/],
  [{ state: 'running', pipeline: 'other' }, /pipeline/],
  [[], /^state is missing; expected a string\.$/],
])('a bad progress report is refused: %j', async (body, words) => {
  const response = await fetch(`${url}/api/streams/mine`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(400);
  expect(((await response.json()) as { readonly detail: string }).detail).toMatch(words);
});

test('reports of throttled callers are summed over all instances', async () => {
  const report = (instance: string, key: string, throttledPerSecond: number) =>
    fetch(`${url}/api/fair/callers`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        tracker: 'default',
        instance,
        callers: [{ key, probability: 0.5, throttledPerSecond }],
      }),
    });
  expect((await report('one', 'noisy', 3)).status).toBe(204);
  expect((await report('two', 'noisy', 4)).status).toBe(204);
  expect((await report('two', 'noisy', 5)).status).toBe(204);
  expect((await report('', 'noisy', 5)).status).toBe(400);
  const leaving = new AbortController();
  const response = await fetch(`${url}/api/live?view=fair`, { signal: leaving.signal });
  const { value } = (await response.body?.getReader().read()) ?? {};
  leaving.abort();
  const [, data = ''] = /data: (.*)/.exec(new TextDecoder().decode(value)) ?? [];
  const caller = { tracker: 'default', key: 'noisy', probability: 0.5 };
  const callers = [{ ...caller, throttledPerSecond: 8, instances: 2 }];
  expect(JSON.parse(data)).toMatchObject({ body: { callers } });
  expect(await (await fetch(`${url}/api/fair?tracker=default`)).json()).toMatchObject({ callers });
});

test('a HEAD request and a closed page hold no resources', async () => {
  for (let turn = 0; turn < 5; turn += 1) {
    expect((await fetch(`${url}/api/live?view=overview`, { method: 'HEAD' })).status).toBe(200);
    const leaving = new AbortController();
    const response = await fetch(`${url}/api/live?view=sets`, { signal: leaving.signal });
    await response.body?.getReader().read();
    leaving.abort();
  }
  const pagesCount = async () => {
    const text = await (await fetch(`${url}/metrics`)).text();
    return /^syncline_server_live_pages (\d+)$/m.exec(text)?.[1];
  };
  await expect.poll(pagesCount, { timeout: 60_000 }).toBe('0');
});
