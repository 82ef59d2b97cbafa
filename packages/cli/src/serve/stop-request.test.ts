import { expect, test } from 'vitest';
import type { CliWorld, StopEvent } from '../cli-world.js';
import { listenForStop } from './stop-request.js';

function fakeWorld() {
  const exits: number[] = [];
  let send: (event: StopEvent) => void = () => expect.unreachable();
  const silent = { write() {} };
  const world: CliWorld = {
    stdout: silent,
    stderr: silent,
    environment: {},
    onStopEvent: (listener) => {
      send = listener;
    },
    onSuspend() {},
    ask: async () => undefined,
    reportStarted() {},
    makeNewFilesPrivate() {},
    exitNow: (code) => void exits.push(code),
  };
  const request = listenForStop(world);
  return { exits, request, send: (event: StopEvent) => send(event) };
}

test('the first signal requests a stop, the second forces it with a non-zero exit code', async () => {
  const { exits, request, send } = fakeWorld();
  send('SIGINT');
  expect(await request).toEqual({ event: 'SIGINT' });
  expect(exits).toEqual([]);
  send('SIGTERM');
  expect(exits).toEqual([1]);
});

test('when the parent exits or the terminal closes, a stop is requested but never forced', async () => {
  const { exits, request, send } = fakeWorld();
  send('disconnect');
  send('SIGHUP');
  send('SIGHUP');
  send('SIGTERM');
  expect(await request).toEqual({ event: 'disconnect' });
  expect(exits).toEqual([]);
});
