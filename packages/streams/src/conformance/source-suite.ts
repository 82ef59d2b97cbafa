// The contract of every source, ours and yours: the same records in the same order from any position, and a clear
// refusal when a position can no longer be continued.
//
// X50  Reading from a position returns exactly the records after it, however often, until it is lost.
// X51  A position survives JSON unchanged, and a lost one is reported before any record is read.
import assert from 'node:assert/strict';
import { SynclineError } from '@syncline/kernel';
import type { ConformanceCase } from '@syncline/kernel/testing';
import type { Json, Source, SourceBatch } from '../ends/source.js';

export interface SourceSubject {
  /** The source, as a new process would create it. */
  open(): Source<Json>;
  /** The partition that the suite reads. It is empty at first. */
  readonly partition: string;
  /** Adds records to the partition. */
  append(records: readonly Json[]): Promise<void>;
  /** Adds a record that cannot be decoded. */
  appendBad?(): Promise<void>;
  /**
   * Ways in which a position can be lost, by name: trimmed past it, deleted, created again. Each is called with
   * six records in place, of which three were read.
   */
  readonly losses: Readonly<Record<string, () => Promise<void>>>;
}

type Cases = Readonly<Record<string, (subject: SourceSubject) => Promise<void>>>;
type Batch = SourceBatch<Json>;

const records = (count: number, first = 0): Json[] =>
  Array.from({ length: count }, (_, index) => ({
    n: first + index,
    text: `record ${first + index}`,
  }));

const cases: Cases = {
  'X50 reads all records in order, and the same ones again': readsAgain,
  'X50 reading from any position returns exactly what is after it': readsFromEveryPosition,
  'X50 a bad record takes a place between its neighbors': keepsBadInPlace,
  'X51 T28 positions survive JSON and hold no number beyond 2^53': positionsAreJson,
  'every position that was returned passes the check': checksPass,
  'acknowledging, even repeatedly, loses nothing after the position': acknowledges,
  'an aborted read ends soon and a new one continues': aborts,
  'a source can be used again after it was closed': closes,
};

/** `lossNames` are the names that the subject has in `losses`: each gets its own case. */
export function sourceSuite(
  create: () => Promise<SourceSubject & AsyncDisposable>,
  lossNames: readonly string[],
): readonly ConformanceCase[] {
  const losses = lossNames.map(
    (loss): ConformanceCase => ({
      name: `X51 T20 ${loss}: the position is lost, for the check and for reading`,
      async run() {
        await using subject = await create();
        await losesPosition(subject, loss);
      },
    }),
  );
  const general = Object.entries(cases).map(
    ([name, check]): ConformanceCase => ({
      name,
      async run() {
        await using subject = await create();
        await check(subject);
      },
    }),
  );
  return [...general, ...losses];
}

async function readsAgain(subject: SourceSubject): Promise<void> {
  const written = records(1_300);
  await subject.append(written);
  for (let round = 0; round < 2; round += 1) {
    await using reader = new Reader(subject);
    assert.deepEqual(itemsOf(await reader.take(1_300)), written);
    assert.ok((await subject.open().partitions(never)).includes(subject.partition));
  }
}

async function readsFromEveryPosition(subject: SourceSubject): Promise<void> {
  const written = records(20);
  const positions: { readonly count: number; readonly position: Json }[] = [];
  for (let count = 0; count < 20; count += 4) {
    await subject.append(written.slice(count, count + 4));
    await using reader = new Reader(subject);
    const batches = await reader.take(count + 4);
    positions.push({ count: count + 4, position: lastPosition(batches) });
  }
  for (const { count, position } of positions.slice(0, -1)) {
    await using reader = new Reader(subject, position);
    assert.deepEqual(itemsOf(await reader.take(20 - count)), written.slice(count));
  }
}

async function keepsBadInPlace(subject: SourceSubject): Promise<void> {
  if (subject.appendBad === undefined) return;
  await subject.append(records(2));
  await subject.appendBad();
  await subject.append(records(2, 2));
  await using reader = new Reader(subject);
  const batches = await reader.take(5);
  assert.deepEqual(itemsOf(batches), records(4));
  let before = 0;
  const places = batches.flatMap(({ items, bad = [] }) => {
    const found = bad.map(({ at }) => before + at);
    before += items.length;
    return found;
  });
  assert.deepEqual(places, [2]);
  const [bad] = batches.flatMap((batch) => batch.bad ?? []);
  assert.ok((bad?.reason ?? '').length > 0, 'a bad record says why');
  await using rest = new Reader(subject, lastPosition(batches.slice(0, -1)) ?? null);
  await rest.take(5 - countOf(batches.slice(0, -1)));
}

async function positionsAreJson(subject: SourceSubject): Promise<void> {
  await subject.append(records(10));
  await using reader = new Reader(subject);
  for (const { position } of await reader.take(10)) {
    assert.deepEqual(JSON.parse(JSON.stringify(position)), position);
    assertSafeNumbers(position);
  }
}

async function checksPass(subject: SourceSubject): Promise<void> {
  await subject.append(records(600));
  await using reader = new Reader(subject);
  const batches = await reader.take(600);
  const fresh = subject.open();
  for (const { position } of batches) await fresh.check(subject.partition, position, never);
  await fresh.close?.();
}

async function acknowledges(subject: SourceSubject): Promise<void> {
  await subject.append(records(10));
  await using reader = new Reader(subject);
  const position = lastPosition(await reader.take(10));
  const source = subject.open();
  const positions = new Map([[subject.partition, position]]);
  await source.ack?.(positions);
  await source.ack?.(positions);
  await source.check(subject.partition, position, never);
  await source.close?.();
  await subject.append(records(3, 10));
  await using rest = new Reader(subject, position);
  assert.deepEqual(itemsOf(await rest.take(3)), records(3, 10));
}

async function aborts(subject: SourceSubject): Promise<void> {
  await subject.append(records(5));
  const first = new Reader(subject);
  const position = lastPosition(await first.take(5));
  const waiting = first.next();
  first.abort();
  const hasEnded = await waiting.then(
    (batch) => batch === undefined || batch.end === true || batch.idle === true,
    (thrown: unknown) => thrown instanceof SynclineError && thrown.code === 'aborted',
  );
  assert.ok(hasEnded, 'an aborted read ends, or throws aborted');
  await first[Symbol.asyncDispose]();
  await subject.append(records(2, 5));
  await using second = new Reader(subject, position);
  assert.deepEqual(itemsOf(await second.take(2)), records(2, 5));
}

async function closes(subject: SourceSubject): Promise<void> {
  await subject.append(records(3));
  const source = subject.open();
  for (let round = 0; round < 2; round += 1) {
    const stop = new AbortController();
    const batches: Batch[] = [];
    for await (const batch of source.read(subject.partition, null, stop.signal)) {
      batches.push(batch);
      if (countOf(batches) >= 3) break;
    }
    assert.deepEqual(itemsOf(batches), records(3));
    stop.abort();
    await source.close?.();
  }
}

async function losesPosition(subject: SourceSubject, loss: string): Promise<void> {
  await subject.append(records(3));
  let position: Json;
  {
    await using reader = new Reader(subject);
    position = lastPosition(await reader.take(3));
  }
  await subject.append(records(3, 3));
  const lose = subject.losses[loss];
  assert.ok(lose !== undefined, `the subject has no loss "${loss}"`);
  await lose();
  const source = subject.open();
  await assert.rejects(source.check(subject.partition, position, never), isLost);
  await using reader = new Reader(subject, position);
  await assert.rejects(reader.next(), isLost);
  await source.close?.();
}

function isLost(thrown: unknown): boolean {
  assert.ok(thrown instanceof SynclineError, String(thrown));
  assert.equal(thrown.code, 'position-lost', thrown.message);
  return true;
}

/** Reads one partition like a separate process. */
class Reader implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #source: Source<Json>;
  readonly #batches: AsyncIterator<Batch>;

  constructor(subject: SourceSubject, from: Json = null) {
    this.#source = subject.open();
    const batches = this.#source.read(subject.partition, from, this.#stop.signal);
    this.#batches = batches[Symbol.asyncIterator]();
  }

  async next(): Promise<Batch | undefined> {
    const result = await this.#batches.next();
    return result.done === true ? undefined : result.value;
  }

  /** Batches with at least `count` records, bad ones included. */
  async take(count: number): Promise<readonly Batch[]> {
    const taken: Batch[] = [];
    while (countOf(taken) < count) {
      const batch = await this.next();
      assert.ok(
        batch !== undefined,
        `the source ended after ${countOf(taken)} of ${count} records`,
      );
      taken.push(batch);
      if (batch.end === true) break;
    }
    assert.equal(countOf(taken), count);
    return taken;
  }

  abort(): void {
    this.#stop.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#batches.return?.();
    await this.#source.close?.();
  }
}

const never = new AbortController().signal;

function itemsOf(batches: readonly Batch[]): readonly Json[] {
  return batches.flatMap(({ items }) => items);
}

function countOf(batches: readonly Batch[]): number {
  return batches.reduce((sum, { items, bad = [] }) => sum + items.length + bad.length, 0);
}

function lastPosition(batches: readonly Batch[]): Json {
  return batches.at(-1)?.position ?? null;
}

function assertSafeNumbers(value: Json): void {
  if (typeof value === 'number') assert.ok(Number.isSafeInteger(value), `${value} is not exact`);
  else if (typeof value === 'object' && value !== null)
    Object.values(value).forEach(assertSafeNumbers);
}
