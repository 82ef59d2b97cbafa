// What a channel sends to a server before its first call.
import { once } from 'node:events';
import { createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createSystemClock } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { jobsLimits } from '../limits.js';
import { jobCalls } from '../wire/calls.js';
import { JobChannel } from './job-channel.js';

test('a server may send 512 KiB ahead, on a stream and on the connection', async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const target = { address: `127.0.0.1:${port}`, tls: undefined, token: undefined };
  const channel = new JobChannel({ clock: createSystemClock(), target });
  const opened = once(server, 'session') as Promise<[ServerHttp2Session]>;
  const asked = once(server, 'stream');
  const answer = channel.ask(jobCalls.getJob, { jobId: 'nightly-42' }, undefined);
  answer.catch(() => {}); // it is never answered
  const [session] = await opened;
  await asked; // by then its settings have arrived
  const { value: windowBytes } = jobsLimits.remoteWindowBytes;
  expect(session.remoteSettings.initialWindowSize).toBe(windowBytes);
  expect(session.state.remoteWindowSize).toBe(windowBytes);
  channel.close();
  session.destroy();
  server.close();
});
