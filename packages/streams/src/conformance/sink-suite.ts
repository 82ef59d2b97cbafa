// The contract of every sink, ours and yours: nothing is visible before its epoch is committed, a repeated commit
// changes nothing, and an older writer is refused.
//
// X52  Committed epochs are visible completely and in order, however often each commit is repeated and by which
//      process.
// X53  A target that stores a mark refuses an older generation, a copy of the same one, and other pipelines.
import assert from 'node:assert/strict';
import { SynclineError } from '@syncline/kernel';
import type { ConformanceCase } from '@syncline/kernel/testing';
import type { CommitResult, Fence, OutboxSink, Output, Sink } from '../ends/sink.js';
import type { Json } from '../ends/source.js';

export interface SinkSubject {
  /** The sink over the same target, as a new process would create it. Its values are numbers. */
  open(): Sink<Json> | OutboxSink;
  /** What a reader of the target sees, in the order of the target. */
  visible(): Promise<readonly Json[]>;
}

export interface SinkAbilities {
  /** The target keeps its mark and a fence. False for targets whose consumers drop repeated rows. */
  readonly remembers: boolean;
}

type Cases = Readonly<Record<string, (subject: SinkSubject) => Promise<void>>>;

const everySink: Cases = {
  'X52 epochs become visible in order when they are committed': inOrder,
  'X52 an epoch may have thousands of rows': manyRows,
};

const rememberingSinks: Cases = {
  'X52 T2 a repeated commit, even by another process, returns already': repeated,
  'X52 T1 an epoch cut short is completed by the next process': cutShort,
  'X41 an epoch cut short that a restored savepoint does not owe blocks no later one':
    cutShortForGood,
  'X52 mark reports the pipeline, the generation and the last epoch': marks,
  'X53 T16 an older generation is fenced and adds nothing': olderGeneration,
  'X53 T16 a copy of the directory, with another token, is fenced': copiedDirectory,
  'X53 another pipeline is a conflict and adds nothing': otherPipeline,
};

/** `create` is called once per case, and its result is disposed of afterwards. */
export function sinkSuite(
  create: () => Promise<SinkSubject & AsyncDisposable>,
  abilities: SinkAbilities,
): readonly ConformanceCase[] {
  const cases = { ...everySink, ...(abilities.remembers && rememberingSinks) };
  return Object.entries(cases).map(([name, check]) => ({
    name,
    async run() {
      await using subject = await create();
      await check(subject);
    },
  }));
}

const first: Fence = { pipeline: 'p1', generation: 1, attempt: 0, token: 'token-1' };
const second: Fence = { pipeline: 'p1', generation: 2, attempt: 0, token: 'token-2' };

async function inOrder(subject: SinkSubject): Promise<void> {
  await using writer = await Writer.start(subject, first);
  assert.deepEqual(await subject.visible(), []);
  for (let epoch = 1; epoch <= 3; epoch += 1) {
    const pending = await writer.prepare(epoch, [10 * epoch, 10 * epoch + 1]);
    assert.equal((await subject.visible()).length, 2 * (epoch - 1), 'visible before its commit');
    assert.equal(await pending.commit(), 'committed');
  }
  assert.deepEqual(await subject.visible(), [10, 11, 20, 21, 30, 31]);
}

async function manyRows(subject: SinkSubject): Promise<void> {
  const values = Array.from({ length: 2_500 }, (_, index) => index);
  await using writer = await Writer.start(subject, first);
  await writer.write(1, values);
  assert.deepEqual(await subject.visible(), values);
}

async function repeated(subject: SinkSubject): Promise<void> {
  let owed: Pending;
  {
    await using writer = await Writer.start(subject, first);
    await writer.write(1, [1, 2]);
    owed = await writer.prepare(2, [3]);
    assert.equal(await owed.commit(), 'committed');
    assert.equal(await owed.commit(), 'already');
  }
  await using next = await Writer.start(subject, second, [owed]);
  assert.equal(await next.again(owed), 'already');
  await next.write(3, [4]);
  assert.deepEqual(await subject.visible(), [1, 2, 3, 4]);
}

/** With parts of two rows each: the first process delivers only some of them. */
async function cutShort(subject: SinkSubject): Promise<void> {
  const values = [1, 2, 3, 4, 5];
  let owed: Pending;
  {
    await using writer = await Writer.start(subject, first);
    owed = await writer.prepare(1, values, 2);
    await owed.commitSome();
  }
  await using next = await Writer.start(subject, second, [owed]);
  await next.again(owed);
  await next.write(2, [6]);
  assert.deepEqual(await subject.visible(), [...values, 6]);
}

async function cutShortForGood(subject: SinkSubject): Promise<void> {
  {
    await using writer = await Writer.start(subject, first);
    const owed = await writer.prepare(1, [1, 2, 3, 4, 5], 2);
    await owed.commitSome();
  }
  await using next = await Writer.start(subject, second);
  await next.write(2, [6]);
  assert.equal((await subject.visible()).at(-1), 6);
}

async function marks(subject: SinkSubject): Promise<void> {
  const before = subject.open();
  assert.equal(await before.mark(), null);
  await closeSink(before);
  await using writer = await Writer.start(subject, first);
  await writer.write(1, [1]);
  await writer.write(2, [2]);
  const sink = subject.open();
  assert.deepEqual(await sink.mark(), { pipeline: 'p1', generation: 1, epoch: 2 });
  await closeSink(sink);
}

async function olderGeneration(subject: SinkSubject): Promise<void> {
  await using old = await Writer.start(subject, first);
  await old.write(1, [1]);
  const late = await old.prepare(2, [2]);
  await using next = await Writer.start(subject, second);
  await assert.rejects(late.commit(), isCode('fenced', 'out-of-step'));
  await next.write(2, [3]);
  await assert.rejects(late.commit(), isCode('fenced', 'conflict'));
  assert.deepEqual(await subject.visible(), [1, 3]);
}

async function copiedDirectory(subject: SinkSubject): Promise<void> {
  await using original = await Writer.start(subject, first);
  await original.write(1, [1]);
  const copy: Fence = { ...first, token: 'token-of-the-copy' };
  const refused = async () => {
    await using writer = await Writer.start(subject, copy);
    await writer.write(2, [99]);
  };
  await assert.rejects(refused(), isCode('fenced'));
  await original.write(2, [2]);
  assert.deepEqual(await subject.visible(), [1, 2]);
}

async function otherPipeline(subject: SinkSubject): Promise<void> {
  await using writer = await Writer.start(subject, first);
  await writer.write(1, [1]);
  const refused = async () => {
    const fence = { ...second, pipeline: 'p2', generation: 9 };
    await using foreign = await Writer.start(subject, fence);
    await foreign.write(1, [99]);
  };
  await assert.rejects(refused(), isCode('conflict'));
  await writer.write(2, [2]);
  assert.deepEqual(await subject.visible(), [1, 2]);
}

function isCode(...codes: readonly string[]): (thrown: unknown) => boolean {
  return (thrown) => {
    assert.ok(thrown instanceof SynclineError, String(thrown));
    assert.ok(codes.includes(thrown.code), `${thrown.code}: ${thrown.message}`);
    return true;
  };
}

/** An epoch after its commit point: what a checkpoint owes to the sink. */
interface Pending {
  readonly handle: Json;
  commit(): Promise<CommitResult>;
  /** Commits only a part, if the sink delivers in parts. */
  commitSome(): Promise<void>;
  /** The same output, passed to another instance. */
  repeatOn(sink: Sink<Json> | OutboxSink, fence: Fence): Promise<CommitResult>;
}

/** Drives either kind of sink as a pipeline does. */
class Writer implements AsyncDisposable {
  readonly #sink: Sink<Json> | OutboxSink;
  readonly #fence: Fence;

  private constructor(sink: Sink<Json> | OutboxSink, fence: Fence) {
    this.#sink = sink;
    this.#fence = fence;
  }

  static async start(
    subject: SinkSubject,
    fence: Fence,
    owed: readonly Pending[] = [],
  ): Promise<Writer> {
    const sink = subject.open();
    try {
      if ('deliver' in sink) await sink.claim?.(fence, never);
      else
        await sink.recover(
          owed.map(({ handle }) => handle),
          fence,
        );
    } catch (thrown) {
      await closeSink(sink);
      throw thrown;
    }
    return new Writer(sink, fence);
  }

  async write(epoch: number, values: readonly number[]): Promise<void> {
    await (await this.prepare(epoch, values)).commit();
  }

  async prepare(epoch: number, values: readonly number[], partRows = 1_000): Promise<Pending> {
    return 'deliver' in this.#sink
      ? prepareParts(this.#sink, this.#fence, epoch, values, partRows)
      : await prepareTransaction(this.#sink, this.#fence, epoch, values);
  }

  async again(pending: Pending): Promise<CommitResult> {
    return await pending.repeatOn(this.#sink, this.#fence);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await closeSink(this.#sink);
  }
}

function prepareParts(
  sink: OutboxSink,
  fence: Fence,
  epoch: number,
  values: readonly number[],
  partRows: number,
): Pending {
  const parts = Array.from({ length: Math.ceil(values.length / partRows) }, (_, part) => {
    const start = part * partRows;
    const rows = values.slice(start, start + partRows).map((value) => ({
      id: `id-${value}`,
      key: value,
      value,
    }));
    return { epoch, part, isLast: start + partRows >= values.length, first: start, rows };
  });
  const deliver = async (to: OutboxSink, by: Fence, count = parts.length) => {
    let result: CommitResult = 'already';
    for (const part of parts.slice(0, count)) {
      if ((await to.deliver(part, by, never)) === 'committed') result = 'committed';
    }
    return result;
  };
  return {
    handle: null,
    commit: () => deliver(sink, fence),
    async commitSome() {
      await deliver(sink, fence, Math.ceil(parts.length / 2));
    },
    repeatOn: async (other, by) => ('deliver' in other ? await deliver(other, by) : 'already'),
  };
}

async function prepareTransaction(
  sink: Sink<Json>,
  fence: Fence,
  epoch: number,
  values: readonly number[],
): Promise<Pending> {
  const transaction = await sink.begin(epoch, 0, fence);
  const outputs = values.map(
    (value, index): Output<Json> => ({
      value,
      key: value,
      time: { epoch: 0, round: index },
      id: () => `id-${value}`,
    }),
  );
  await sink.write(transaction, outputs);
  const handle = await sink.prepare(transaction);
  return {
    handle,
    commit: () => sink.commit(handle),
    async commitSome() {},
    repeatOn: async (other) => ('deliver' in other ? 'already' : await other.commit(handle)),
  };
}

const never = new AbortController().signal;

async function closeSink(sink: Sink<Json> | OutboxSink): Promise<void> {
  if ('deliver' in sink) await sink.close?.();
}
