// What a channel sends to a server before its first call, and what is known after a lost connection.
import { once } from 'node:events';
import { createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createSystemClock } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { jobsLimits } from '../limits.js';
import { jobCalls } from '../wire/calls.js';
import { JobChannel } from './job-channel.js';
import { createRemoteJobStore } from './remote-job-store.js';

async function listen() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { server, address: `127.0.0.1:${port}` };
}

test('a server may send 512 KiB ahead, on a stream and on the connection', async () => {
  const { server, address } = await listen();
  const target = { address, tls: undefined, token: undefined };
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

test('a lost connection leaves the outcome of a write unknown, but never that of a read', async () => {
  const { server, address } = await listen();
  server.on('stream', (stream) => stream.session?.destroy());
  await using writer = createRemoteJobStore({ address });
  const creating = writer.createJob({ jobId: 'nightly-42', numTasks: 1 });
  await expect(creating).rejects.toMatchObject({ code: 'unavailable', outcome: 'unknown' });
  await using reader = createRemoteJobStore({ address });
  const reading = reader.getJob('nightly-42');
  await expect(reading).rejects.toMatchObject({ code: 'unavailable', outcome: 'not-applied' });
  server.close();
});
