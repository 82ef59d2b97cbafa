// Writes over HTTP only: a job from its creation to its end, and what is refused.
import { createMemoryJobStore } from '@syncline/jobs';
import { expect, test } from 'vitest';
import { startTestServer } from '../../testing/test-server.js';
import { sliceOver } from './testing/slice-over.js';

async function serve() {
  const store = createMemoryJobStore();
  const server = await startTestServer([sliceOver(store)]);
  const ask = async (line: string, body?: unknown) => {
    const [method = '', path = ''] = line.split(' ');
    const response = await fetch(`http://127.0.0.1:${server.port('http')}/api/jobs/${path}`, {
      method,
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return Object.assign(server, { ask, store });
}

test('a task reports over HTTP: create, claim, write, renew, release', async () => {
  await using server = await serve();
  const { ask, store } = server;
  const created = await ask('PUT nightly', { numTasks: 2, expectedTags: ['ingest'] });
  expect(created).toMatchObject({ status: 200, body: { created: true, job: { numTasks: 2 } } });
  expect(await ask('PUT nightly', { numTasks: 9 })).toMatchObject({
    body: { created: false, job: { numTasks: 2 } },
  });
  const { body } = await ask('POST nightly/tasks/1/claim', { ttlMs: 60_000, holder: 'shell' });
  const { lease, incarnation } = body as { lease: { epoch: number }; incarnation: string };
  const held = { incarnation, epoch: lease.epoch };
  const path = 'nightly/tasks/1/tags/ingest';
  const write = { ...held, status: 20, progress: 0.4, payload: { file: 'a.csv' }, eventId: 'e1' };
  expect(await ask(`PUT ${path}`, write)).toMatchObject({
    status: 200,
    body: { applied: true, duplicate: false, epoch: 1, state: { version: 1, progress: 0.4 } },
  });
  expect(await ask(`PUT ${path}`, write)).toMatchObject({ body: { duplicate: true } });
  expect(await ask(`PUT ${path}`, { ...held, status: 21, ifVersion: 7 })).toMatchObject({
    status: 200,
    body: { applied: false, current: { version: 1 } },
  });
  expect(await ask('POST nightly/tasks/1/renew', held)).toMatchObject({
    body: { lease: { state: 'held', ttlMs: 60_000 } },
  });
  expect(await ask('POST nightly/tasks/1/release', held)).toMatchObject({
    body: { lease: { state: 'released' } },
  });
  expect((await store.aggregate('nightly', {})).percent).toBe(20);
});

test('without an epoch a write claims the task, even when others do the same at once', async () => {
  await using server = await serve();
  await server.ask('PUT cron', { numTasks: 1 });
  const tags = ['a', 'b', 'c', 'd'];
  const answers = await Promise.all(
    tags.map((tag) => server.ask(`PUT cron/tasks/0/tags/${tag}%2F1`, { status: 1 })),
  );
  for (const { status, body } of answers) expect([status, body['applied']]).toEqual([200, true]);
  const { states } = await server.store.listStates('cron', {}, { afterRevision: 0, limit: 9 });
  expect(states.map(({ tag }) => tag).sort()).toEqual(tags.map((tag) => `${tag}/1`));
  // The previous holder of the task is fenced.
  const stale = { status: 2, epoch: 1, incarnation: answers[0]?.body['incarnation'] };
  expect(await server.ask('PUT cron/tasks/0/tags/a', stale)).toMatchObject({
    status: 409,
    body: { code: 'fenced' },
  });
});

test('invalid input is refused by name and changes nothing', async () => {
  await using server = await serve();
  await server.ask('PUT here', { numTasks: 1 });
  const wrong: readonly [string, unknown, number, string][] = [
    ['PUT here/tasks/0/tags/a', {}, 400, 'status'],
    ['PUT here/tasks/0/tags/a', { status: 1, mesage: 'x' }, 400, 'mesage'],
    ['PUT here/tasks/0/tags/a', { status: 1, progress: 2 }, 400, 'progress'],
    ['PUT here/tasks/1/tags/a', { status: 1 }, 400, 'taskId'],
    ['PUT here/tasks/x/tags/a', { status: 1 }, 400, 'task'],
    ['PUT here?force', { numTasks: 1 }, 400, 'force'],
    ['PUT other', { numTasks: 0 }, 400, 'numTasks'],
    ['POST here/tasks/0/renew', { epoch: 1 }, 400, 'incarnation'],
  ];
  for (const [line, body, status, field] of wrong)
    expect([line, await server.ask(line, body)]).toMatchObject([
      line,
      { status, body: { code: 'invalid-argument', details: { field } } },
    ]);
  expect(await server.ask('PUT none/tasks/0/tags/a', { status: 1 })).toMatchObject({ status: 404 });
  expect((await server.store.getJob('here'))?.revision).toBe(1);
});

test('the error for a wrong body names the field, its value and what was expected', async () => {
  await using server = await serve();
  const wrong: readonly [string, unknown, string][] = [
    ['PUT a', { numTask: 1 }, 'unknown field "numTask". Did you mean "numTasks"?'],
    [
      'PUT a',
      { colour: 1 },
      'unknown field "colour". Expected one of: numTasks, expectedTags, labels.',
    ],
    ['PUT a', {}, 'numTasks is missing; expected a number.'],
    ['PUT a', { numTasks: '1' }, 'numTasks is "1"; expected a number.'],
    ['PUT a', { numTasks: 1, labels: [] }, 'labels is []; expected an object.'],
    ['PUT a', { numTasks: 1, expectedTags: [7] }, 'expectedTags.0 is 7; expected a string.'],
    ['PUT a', [1], 'the body is [1]; expected an object.'],
    [
      'PUT a/tasks/0/tags/x',
      { status: 1, durability: 'none' },
      'durability is "none"; expected one of buffered, synced.',
    ],
  ];
  for (const [line, body, detail] of wrong)
    expect(await server.ask(line, body)).toMatchObject({ status: 400, body: { detail } });

  const huge = await fetch(`http://127.0.0.1:${server.port('http')}/api/jobs/a`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: '{"numTasks":1e999}',
  });
  expect(await huge.json()).toMatchObject({ detail: 'numTasks is Infinity; expected a number.' });
});

test('the writes are described in /api/openapi.json', async () => {
  await using server = await serve();
  const { port } = server;
  const response = await fetch(`http://127.0.0.1:${port('http')}/api/openapi.json`);
  const { paths } = (await response.json()) as { paths: Record<string, Record<string, object>> };
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      'requestBody' in operation ? [`${method.toUpperCase()} ${path}`] : [],
    ),
  );
  expect(described).toEqual([
    'PUT /api/jobs/{job}',
    'POST /api/jobs/{job}/tasks/{task}/claim',
    'POST /api/jobs/{job}/tasks/{task}/renew',
    'POST /api/jobs/{job}/tasks/{task}/release',
    'PUT /api/jobs/{job}/tasks/{task}/tags/{tag}',
  ]);
});
