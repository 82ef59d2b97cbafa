// SetStates as any client of the contract sees it: good writes, bad ones between them, and clients that misbehave.
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Client, type ClientDuplexStream, credentials, type StatusObject } from '@grpc/grpc-js';
import { createMemoryJobStore, type JobStore, jobsLimits, type StateWrite } from '@syncline/jobs';
import { JobService } from '@syncline/protocol/jobs';
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
const { input, output, name } = JobService.method.setStates;
let behind: JobStore;
let calls: ReturnType<typeof replaceableCalls>;
let writer: JobWriter;
let remote: RemoteJobs<FaultProxy>;
let client: Client;

beforeEach(async () => {
  behind = createMemoryJobStore();
  calls = replaceableCalls(behind);
  writer = await JobWriter.create(behind, jobId, 2);
  remote = await startRemoteJobs(behind, startFaultProxy);
  client = new Client(`127.0.0.1:${remote.server.port('grpc')}`, credentials.createInsecure());
});

afterEach(async () => {
  client.close();
  await remote[Symbol.asyncDispose]();
});

class WriteStream {
  readonly answers = new Map<
    number,
    { readonly case: string | undefined; readonly value?: unknown }
  >();
  readonly call: ClientDuplexStream<Uint8Array, Uint8Array>;
  readonly status: Promise<StatusObject>;
  largestMessageBytes = 0;
  /** What the server said last. */
  end: { readonly metadata: Readonly<Record<string, string>> } | undefined;

  constructor() {
    const asBuffer = (bytes: Uint8Array) => Buffer.from(bytes);
    const path = `/${JobService.typeName}/${name}`;
    this.call = client.makeBidiStreamRequest(path, asBuffer, (bytes) => bytes);
    this.call.on('error', () => undefined);
    this.call.on('data', (bytes: Uint8Array) => {
      this.largestMessageBytes = Math.max(this.largestMessageBytes, bytes.length);
      const { answers, end } = fromBinary(output, bytes);
      for (const { number, answer } of answers) this.answers.set(Number(number), answer);
      this.end = end;
    });
    this.status = new Promise((resolve) => this.call.on('status', resolve));
  }

  send(writes: Readonly<Record<number, StateWrite>>): void {
    const numbered = Object.entries(writes).map(([number, write]) => {
      const { ifVersion, payload: _, durability: __, ...plain } = write;
      const condition = ifVersion === undefined ? {} : { ifVersion: BigInt(ifVersion) };
      return { number: BigInt(number), write: { ...plain, ...condition } };
    });
    const message: MessageInitShape<typeof input> = { writes: numbered };
    this.call.write(toBinary(input, create(input, message)));
  }

  untilAnswered(count: number): Promise<void> {
    return until(() => this.answers.size >= count, `${count} answers`);
  }
}

/** Of the error that the server has ended the stream with. */
async function endOf(stream: WriteStream) {
  expect(await stream.status).toMatchObject({ code: 0 });
  const { metadata = {} } = stream.end ?? {};
  return { code: metadata['syncline-code'], outcome: metadata['syncline-outcome'] };
}

test('writes are begun in their order and answered under their numbers', async () => {
  const stream = new WriteStream();
  stream.send({ 5: writer.write(0, 'a'), 6: writer.write(0, 'a') });
  stream.send({ 7: writer.write(1, 'b', { message: 'last' }) });
  await stream.untilAnswered(3);
  expect(stream.answers.get(6)?.value).toMatchObject({ applied: true, state: { version: 2n } });
  expect(stream.answers.get(7)?.value).toMatchObject({ state: { message: 'last', revision: 6n } });
  stream.call.end();
  expect(await stream.status).toMatchObject({ code: 0 });
});

test('J2 a repeat gets the first answer, and a bad write does not affect the others', async () => {
  const stream = new WriteStream();
  const first = writer.write(0, 'a');
  stream.send({
    1: first,
    2: writer.write(0, 'b', { epoch: 99 }),
    3: first,
    4: writer.write(0, 'a'),
  });
  await stream.untilAnswered(4);
  expect(stream.answers.get(1)?.value).toMatchObject({ applied: true, duplicate: false });
  expect(stream.answers.get(2)).toMatchObject({
    case: 'failure',
    value: { metadata: { 'syncline-code': 'fenced', 'syncline-outcome': 'not-applied' } },
  });
  expect(stream.answers.get(3)?.value).toMatchObject({ duplicate: true, state: { version: 1n } });
  expect(stream.answers.get(4)?.value).toMatchObject({ applied: true, state: { version: 2n } });
  stream.call.end();
  await stream.status;
});

test('J20 a write that is malformed or too large fails alone; an envelope that is malformed ends the stream', async () => {
  const stream = new WriteStream();
  const item = (number: number, write: Uint8Array) => {
    const body = Buffer.concat([Buffer.from([0x08, number, 0x12]), varint(write.length), write]);
    return Buffer.concat([Buffer.from([0x0a]), varint(body.length), body]);
  };
  stream.call.write(item(1, Buffer.from([0x08, 0x01])));
  stream.call.write(item(2, Buffer.alloc(jobsLimits.requestBytesMax.value + 1)));
  stream.send({ 3: writer.write(0, 'a') });
  await stream.untilAnswered(3);
  const codes = [1, 2].map((number) => stream.answers.get(number)?.value);
  expect(codes).toMatchObject([
    { metadata: { 'syncline-code': 'invalid-argument' } },
    { metadata: { 'syncline-code': 'limit-exceeded' } },
  ]);
  expect(stream.answers.get(3)?.value).toMatchObject({ applied: true });
  stream.send({ 4: writer.write(0, 'a') });
  stream.call.write(Buffer.from([0xff, 0xff, 0xff]));
  expect(await endOf(stream)).toMatchObject({ code: 'invalid-argument' });
  expect(stream.answers.get(4)?.value).toMatchObject({ applied: true });
});

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** Holds writes until released. */
function holdWrites() {
  const setEncoded = calls.setEncoded.bind(calls);
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  let begunCount = 0;
  calls.setEncoded = async (write) => {
    begunCount += 1;
    await opened;
    return setEncoded(write);
  };
  return { open: () => open(), begunCount: () => begunCount };
}

test('J17 a client with twice the allowed number of unanswered writes loses its stream; writes already begun are answered', async () => {
  const hold = holdWrites();
  const stream = new WriteStream();
  const message = 'x'.repeat(4_000);
  const many = Object.fromEntries(
    Array.from({ length: 10 }, (_, at) => [at, writer.write(0, 'a', { message })]),
  );
  for (let turn = 0; turn < 20; turn += 1) stream.send(many);
  await until(() => hold.begunCount() > 100, 'writes');
  hold.open();
  expect(await endOf(stream)).toMatchObject({ code: 'limit-exceeded' });
  expect(stream.end?.metadata['syncline-details']).toContain('writeStreamBytesMax');
  const bytesMax = 2 * jobsLimits.writeStreamBytesMax.value;
  expect(hold.begunCount()).toBe(Math.floor(bytesMax / writeBytes(many[0])));
});

test('J17 the smallest writes count more than their bytes, so that few of them are held', async () => {
  const stream = new WriteStream();
  const numbers = Array.from({ length: 20_000 }, (_, at) => at + 128);
  const items = numbers.map((number) => {
    const body = Buffer.concat([Buffer.from([0x08]), varint(number)]);
    return Buffer.concat([Buffer.from([0x0a, body.length]), body]);
  });
  stream.call.write(Buffer.concat(items));
  expect(await endOf(stream)).toMatchObject({ code: 'limit-exceeded' });
  expect(stream.answers.size).toBe((2 * jobsLimits.writeStreamBytesMax.value) / 128);
});

test('J17 a client that does not read its answers loses its stream, and others continue', async () => {
  const stream = new WriteStream();
  stream.send({ 1: writer.write(0, 'a') });
  await stream.untilAnswered(1);
  stream.call.pause();
  const isLimitReached = () =>
    remote.server.log.some(({ fields }) => fields['limit'] === 'writeStreamBytesMax');
  const message = 'x'.repeat(4_000);
  await until(() => {
    stream.send({ 2: writer.write(0, 'a', { message }) });
    return isLimitReached();
  }, 'the limit');
  const { version } = await writer.set(0, 'b');
  expect(version).toBe(1);
  stream.call.resume();
  expect(await endOf(stream)).toMatchObject({ code: 'limit-exceeded' });
});

test('J17 answers that are far larger than their writes leave in messages of a bounded size', async () => {
  const payload = { text: 'x'.repeat(60_000) };
  await writer.set(0, 'a', { payload });
  const hold = holdWrites();
  const stream = new WriteStream();
  const many = Array.from({ length: 200 }, () => writer.write(0, 'a', { ifVersion: 99 }));
  stream.send({ ...many });
  await until(() => hold.begunCount() > 10, 'the writes');
  const { writeAnswersBytesMax, payloadBytesMax } = jobsLimits;
  const begunMax = Math.ceil(writeAnswersBytesMax.value / payloadBytesMax.value);
  expect(hold.begunCount()).toBeLessThanOrEqual(begunMax); // each may be answered with the largest state
  hold.open(); // all that were begun are answered in one turn
  await stream.untilAnswered(many.length);
  expect(stream.largestMessageBytes).toBeLessThan(jobsLimits.writeStreamBytesMax.value + 65_536);
  for (const { value } of stream.answers.values()) expect(value).toMatchObject({ applied: false });
  stream.call.end();
  expect(await stream.status).toMatchObject({ code: 0 });
});

/** With the envelope that the server counts. */
function writeBytes(write: StateWrite | undefined): number {
  if (write === undefined) throw new Error('no write');
  const { ifVersion: _, payload: __, durability: ___, ...plain } = write;
  const { input: single } = JobService.method.setState;
  return toBinary(single, create(single, plain)).length + 24;
}

test('a server that stops answers what it has begun, and begins nothing more', async () => {
  const hold = holdWrites();
  const stream = new WriteStream();
  stream.send({ 1: writer.write(0, 'a') });
  await until(() => hold.begunCount() === 1, 'the write');
  const stopped = remote.server.stop();
  await until(() => remote.server.log.some(({ msg }) => msg === 'server stopping'), 'the stop');
  stream.send({ 2: writer.write(0, 'a') });
  hold.open();
  expect(await endOf(stream)).toEqual({ code: 'unavailable', outcome: 'not-applied' });
  expect([...stream.answers.keys()]).toEqual([1]);
  expect(hold.begunCount()).toBe(1);
  await stopped;
});

test('a client that has gone holds nothing up, and what it began is written', async () => {
  const hold = holdWrites();
  const stream = new WriteStream();
  stream.send({ 1: writer.write(0, 'a') });
  await until(() => hold.begunCount() === 1, 'the write');
  stream.call.cancel();
  await stream.status;
  hold.open();
  await expect.poll(() => behind.getState(jobId, 0, 'a')).toMatchObject({ version: 1 });
});

test('a bug of the server ends the stream: the outcome of the write is unknown', async () => {
  calls.setEncoded = () => Promise.reject(new TypeError('a bug'));
  const stream = new WriteStream();
  stream.send({ 1: writer.write(0, 'a') });
  const status = await stream.status;
  expect(status.metadata.get('syncline-code')).toEqual(['unavailable']);
  expect(status.metadata.get('syncline-outcome')).toEqual(['unknown']);
  expect(stream.answers.size).toBe(0);
});

test('J2 a bug while the server stops: no last message says that the write was not begun', async () => {
  const hold = holdWrites();
  const setEncoded = calls.setEncoded.bind(calls);
  calls.setEncoded = async (write) => {
    await setEncoded(write);
    throw new TypeError('a bug');
  };
  const stream = new WriteStream();
  stream.send({ 1: writer.write(0, 'a') });
  await until(() => hold.begunCount() === 1, 'the write');
  const stopped = remote.server.stop();
  await until(() => remote.server.log.some(({ msg }) => msg === 'server stopping'), 'the stop');
  hold.open();
  const status = await stream.status;
  expect(status.metadata.get('syncline-outcome')).toEqual(['unknown']);
  expect(stream.end).toBeUndefined();
  await stopped;
});
