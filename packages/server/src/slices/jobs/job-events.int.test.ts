// The events of a job over HTTP, as a browser gets them: kinds, ids, resume, scope, deletion, and a drain.
import { createMemoryJobStore } from '@syncline/jobs';
import { expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/test-server.js';
import { writeStates } from '../../testing/write-states.js';
import { sliceOver } from './testing/slice-over.js';

interface Frame {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: Record<string, unknown>;
}

async function setup() {
  const store = createMemoryJobStore();
  const server = await startTestServer([sliceOver(store)]);
  await store.createJob({ jobId: 'nightly', numTasks: 3 });
  return { store, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

interface Reading {
  readonly headers?: Readonly<Record<string, string>>;
  /** Leave when this many frames have arrived. */
  readonly count?: number;
  readonly onSynced?: () => unknown;
}

async function read(server: TestServer, query: string, reading: Reading = {}) {
  const { headers = {}, count = Number.POSITIVE_INFINITY } = reading;
  const gone = new AbortController();
  const url = `http://127.0.0.1:${server.port('http')}/api/jobs/nightly/events${query}`;
  const response = await fetch(url, { headers, signal: gone.signal });
  const frames: Frame[] = [];
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const parts = text.split('\n\n');
    text = parts.pop() ?? '';
    const came = parts.filter((part) => !part.startsWith(':')).map(parseFrame);
    frames.push(...came);
    if (came.some(({ event }) => event === 'synced')) reading.onSynced?.();
    if (frames.length >= count) break;
  }
  gone.abort();
  return { response, frames };
}

function parseFrame(text: string): Frame {
  const fields = new Map(text.split('\n').map((line) => line.split(/: (.*)/s) as [string, string]));
  return {
    event: fields.get('event') ?? '',
    id: fields.get('id'),
    data: JSON.parse(fields.get('data') ?? ''),
  };
}

const running = (taskId: number, tag = 'ingest') => ({ taskId, tag, status: 1, message: '' });

test('a replay, the marker, then live changes: event is the kind, id the cursor, data the event', async () => {
  await using world = await setup();
  const { store, server } = world;
  await writeStates(store, 'nightly', [running(0), running(1)]);
  const onSynced = () => writeStates(store, 'nightly', [running(2)]);
  const { response, frames } = await read(server, '', { count: 4, onSynced });
  expect(frames.slice(0, 4).map(({ event }) => event)).toEqual([
    'snapshot',
    'snapshot',
    'synced',
    'change',
  ]);
  for (const { event, id, data } of frames) expect(data).toMatchObject({ kind: event, cursor: id });
  expect(frames[0]?.id).toMatch(/~$/);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(response.headers.get('x-accel-buffering')).toBe('no');
  expect(response.headers.get('cache-control')).toBe('no-store');
});

test('Last-Event-ID resumes, and wins over the after that the stream began with', async () => {
  await using world = await setup();
  const { store, server } = world;
  await writeStates(store, 'nightly', [running(0), running(1)]);
  const first = await read(server, '', { count: 3 });
  const cursor = first.frames[2]?.id ?? '';
  await writeStates(store, 'nightly', [running(2)]);
  const old = first.frames[0]?.id ?? '';
  for (const [query, headers] of [
    [`?after=${cursor}`, {}],
    ['', { 'last-event-id': cursor }],
    [`?after=${encodeURIComponent(old)}`, { 'last-event-id': cursor }],
  ] as const) {
    const { frames } = await read(server, query, { count: 2, headers });
    expect(frames[0]).toMatchObject({ event: 'synced', data: { resumed: true } });
    expect(frames[1]).toMatchObject({ event: 'change', data: { state: { taskId: 2 } } });
  }
});

test('a scope, and leases and the job if requested', async () => {
  await using world = await setup();
  const { store, server } = world;
  await writeStates(store, 'nightly', [running(0), running(1), running(1, 'parse')]);
  const tagged = await read(server, '?tag=parse', { count: 2 });
  expect(tagged.frames.map(({ event }) => event)).toEqual(['snapshot', 'synced']);
  const task = await read(server, '?task=1&include=lease,job', { count: 5 });
  expect(task.frames.map(({ event }) => event)).toEqual([
    'job',
    'lease',
    'snapshot',
    'snapshot',
    'synced',
  ]);
});

test('the deletion of a job is the last event, and the stream ends', async () => {
  await using world = await setup();
  const { store, server } = world;
  const { frames } = await read(server, '', { onSynced: () => store.deleteJob('nightly') });
  expect(frames.at(-1)).toMatchObject({ event: 'gap', data: { reason: 'deleted' } });
  expect((await read(server, '')).response.status).toBe(404);
});

test('a stop ends the streams at once, cleanly', async () => {
  await using world = await setup();
  const { frames } = await read(world.server, '', { onSynced: () => world.server.stop() });
  expect(frames[0]?.event).toBe('synced');
  expect((await world.server.stop()).inTime).toBe(true);
});
