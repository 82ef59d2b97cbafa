// Start and stop of a whole server: what is open when, and what is left when something fails.
import { expect, test } from 'vitest';
import { EchoSlice } from './testing/echo-slice.js';
import { startTestServer } from './testing/test-server.js';

test('a server without slices opens HTTP only', async () => {
  await using server = await startTestServer([]);
  expect(server.announced).toEqual(['http']);
  const ready = await fetch(`http://127.0.0.1:${server.port('http')}/readyz`);
  expect(ready.status).toBe(200);
  expect(await ready.json()).toEqual({ ready: true, checks: [{ name: 'server', ok: true }] });
});

test('every listener that a slice uses is announced as soon as it accepts', async () => {
  const slice = new EchoSlice();
  await using server = await startTestServer([slice]);
  expect(server.announced).toEqual(['mesh', 'grpc', 'resp', 'http']);
  expect(server.listeners.every(({ port }) => port > 0)).toBe(true);
});
