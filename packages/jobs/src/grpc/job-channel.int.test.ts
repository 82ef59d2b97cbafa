// What a channel sends to a server before its first call, and what is known after a lost connection.
import { once } from 'node:events';
import { createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createSystemClock } from '@syncline/kernel';
import { encode } from '@syncline/kernel/wire';
import { expect, test } from 'vitest';
import { defaultState } from '../job.js';
import { jobsLimits } from '../limits.js';
import { jobCalls } from '../wire/calls.js';
import { stateMessage } from '../wire/messages.js';
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

test('with an unknown host name nothing was sent', async () => {
  await using store = createRemoteJobStore({ address: 'nosuchhost.invalid:7401' });
  const refused = {
    code: 'unavailable',
    outcome: 'not-applied',
    message: expect.stringContaining('unknown host name "nosuchhost.invalid". Check the address.'),
  };
  await expect(store.createJob({ jobId: 'nightly-42', numTasks: 1 })).rejects.toMatchObject(
    refused,
  );
  const write = {
    ...{ jobId: 'nightly-42', incarnation: 'i1', taskId: 0, epoch: 1, tag: 'a', eventId: 'e1' },
    ...{ status: 1, message: '', schemaVersion: 1 },
  };
  await expect(store.setState(write)).rejects.toMatchObject(refused);
});

test('a payload that is not a JSON object is refused in every answer', async () => {
  const { server, address } = await listen();
  const state = { ...defaultState('nightly-42', 0, 'a'), payloadJson: '[1]' };
  const job = { jobId: 'nightly-42', incarnation: 'i1', numTasks: 1, expectedTags: [], labels: {} };
  const counts = { notStarted: 1, running: 0, finished: 0, warned: 0, failed: 0, total: 1 };
  const progress = { revision: 1, cells: counts, percent: 0, lostTasks: 0, tags: [] };
  const answers: Record<string, Uint8Array> = {
    GetState: encode(jobCalls.getState.response, {
      state: encode(stateMessage, state),
      exists: true,
      revision: 1,
    }),
    GetProgress: encode(jobCalls.getProgress.response, {
      job: { ...job, createdAtMs: 1, revision: 1, changedAtMs: 1 },
      progress: { ...progress, lowest: state, worst: state },
      lost: [],
    }),
  };
  server.on('stream', (stream, headers) => {
    const answer = answers[String(headers[':path']).split('/').at(-1) ?? ''] ?? new Uint8Array();
    const frameHead = Buffer.alloc(5);
    frameHead.writeUInt32BE(answer.length, 1);
    stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.concat([frameHead, answer]));
  });
  await using store = createRemoteJobStore({ address });
  const refused = { code: 'unavailable', retryable: false };
  await expect(store.getState('nightly-42', 0, 'a')).rejects.toMatchObject(refused);
  await expect(store.aggregate('nightly-42', {})).rejects.toMatchObject(refused);
  server.close();
});
