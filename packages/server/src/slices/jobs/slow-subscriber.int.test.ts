// A client that subscribes and does not read: it costs the server a frame, and nothing waits for it.
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { createMemoryJobStore, type JobStore, jobsLimits } from '@syncline/jobs';
import { jobCalls, SERVICE } from '@syncline/jobs/grpc';
import { encode } from '@syncline/kernel/wire';
import { type FaultProxy, startFaultProxy } from '@syncline/testkit';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  JobWriter,
  type RemoteJobs,
  replaceableCalls,
  startRemoteJobs,
} from '../../testing/remote-jobs.js';
import { until } from '../../testing/until.js';

const jobId = 'nightly';
const message = 'x'.repeat(4_000);
let behind: JobStore;
let remote: RemoteJobs<FaultProxy>;
let session: ClientHttp2Session;
let pulledCount = 0;
let openCount = 0;

beforeEach(async () => {
  pulledCount = 0;
  openCount = 0;
  behind = counting(createMemoryJobStore());
  remote = await startRemoteJobs(behind, startFaultProxy);
  session = connect(`http://127.0.0.1:${remote.server.port('grpc')}`);
});

afterEach(async () => {
  session.destroy();
  await remote[Symbol.asyncDispose]();
  await until(() => openCount === 0, 'the end of every subscription');
});

/** Counts the subscriptions of the service, and the events that it takes. */
function counting(store: JobStore): JobStore {
  const calls = replaceableCalls(store);
  const open = calls.subscribeEncoded.bind(calls);
  calls.subscribeEncoded = (id, options) => {
    const subscription = open(id, options);
    const batches = subscription.batches.bind(subscription);
    subscription.batches = async function* (max) {
      openCount += 1;
      try {
        for await (const batch of batches(max)) {
          pulledCount += batch.length;
          yield batch;
        }
      } finally {
        openCount -= 1;
      }
    };
    return subscription;
  };
  return store;
}

/** Over bare HTTP/2: unread bytes stay on the wire, while a gRPC client would buffer some of them. */
function subscribeUnread(): ClientHttp2Stream {
  const request = {
    jobId,
    scope: {},
    includeLeases: false,
    includeJob: false,
    bufferEvents: 0,
    bufferBytes: 0,
  } as const;
  const call = session.request({
    ':method': 'POST',
    ':path': `/${SERVICE}/Subscribe`,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  const bytes = encode(jobCalls.subscribe.request, request);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  call.end(Buffer.concat([head, bytes]));
  return call;
}

test('J17 the service reads no more from the store than the connection can take', async () => {
  const writer = await JobWriter.create(behind, jobId, 4);
  const call = subscribeUnread();
  await until(() => pulledCount > 0, 'the marker');
  const writesCount = 1_000;
  for (let index = 0; index < writesCount; index += 1) {
    await writer.set(index % 4, 'ingest', { message });
    if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve)); // the stream moves on
  }
  const framesMax = 4; // two in flight, a pull that came before the second, and what sockets buffer
  expect(pulledCount * message.length).toBeLessThan(framesMax * jobsLimits.frameBytesMax.value);
  let receivedBytes = 0;
  call.on('data', (chunk: Uint8Array) => {
    receivedBytes += chunk.length;
  });
  await until(() => receivedBytes > writesCount * message.length, 'all of it, once it reads');
  call.close(constants.NGHTTP2_CANCEL);
});

test('J21 a client that is gone leaves no subscriber behind, even while the service waits for it', async () => {
  const writer = await JobWriter.create(behind, jobId, 4);
  for (let index = 0; index < 1_000; index += 1)
    await writer.set(index % 4, `tag-${index % 100}`, { message });
  const call = subscribeUnread();
  await until(() => openCount === 1 && pulledCount > 0, 'the replay');
  call.close(constants.NGHTTP2_CANCEL);
  await until(() => openCount === 0, 'the end of its subscription');
});
