import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/test-server.js';
import { createStreamsSlice } from './streams-slice.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer([createStreamsSlice()]);
});
afterAll(() => server.stop());

const urlOf = (path: string) => `http://127.0.0.1:${server.port('http')}/api/streams${path}`;

async function report(generation: number, recordsIn: number): Promise<void> {
  const body = { pipeline: 'orders', state: 'running', generation, recordsIn };
  const headers = { 'content-type': 'application/json' };
  const request = { method: 'PUT', headers, body: JSON.stringify(body) };
  expect((await fetch(urlOf('/orders'), request)).ok).toBe(true);
}

async function rates(): Promise<unknown> {
  const answer = (await (await fetch(urlOf(''))).json()) as { pipelines: [{ rates: number[] }] };
  return answer.pipelines[0].rates;
}

test('the first report of a new generation is a baseline, not a rate', async () => {
  await report(1, 400_000);
  await report(0, 0); // a new process, before it has read the checkpoint
  await report(2, 400_000);
  expect(await rates()).toEqual([0, 0, 0]);
  await report(2, 400_100);
  expect(await rates()).toEqual([0, 0, 0, expect.toSatisfy((rate: number) => rate > 0)]);
});
