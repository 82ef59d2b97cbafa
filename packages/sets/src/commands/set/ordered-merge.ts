// Union, intersection and difference of streams in one order, in memory that does not grow with them.
//
// Views give members by position and then by bytes, and no member twice. So the least of all that stand
// first is the next member of the union, and which streams hold it says whether it is in the result.

export type SetRule = 'union' | 'intersection' | 'difference';

type Batch = readonly Uint8Array[];

export interface MergeInput {
  /** `difference` takes the others away from the first. At least one. */
  readonly streams: readonly AsyncIterable<Batch>[];
  readonly positionOf: (member: Uint8Array) => number;
}

/** Members between two batches of the result, so that a merge without results gives others their turn too. */
const STEPS_PER_BATCH = 256;

/** Batches may be empty. */
export async function* mergeOrdered(
  rule: SetRule,
  { streams, positionOf }: MergeInput,
): AsyncGenerator<Batch, void, undefined> {
  const heads = streams.map((stream) => new StreamHead(stream, positionOf));
  try {
    for (const head of heads) await head.advance();
    let batch: Uint8Array[] = [];
    for (let steps = 1; !isOver(rule, heads); steps += 1) {
      const { least, holders } = leastOf(heads);
      if (isWanted(rule, holders, heads)) batch.push(least.member);
      for (const head of holders) {
        const pause = head.advance();
        if (pause !== undefined) await pause;
      }
      if (steps % STEPS_PER_BATCH !== 0) continue;
      yield batch;
      batch = [];
    }
    yield batch;
  } finally {
    await Promise.all(heads.map((head) => head.close()));
  }
}

function isOver(rule: SetRule, heads: readonly StreamHead[]): boolean {
  switch (rule) {
    case 'union':
      return heads.every((head) => head.isDone);
    case 'intersection':
      return heads.some((head) => head.isDone);
    case 'difference':
      return heads[0]?.isDone ?? true;
  }
}

function isWanted(
  rule: SetRule,
  holders: readonly StreamHead[],
  heads: readonly StreamHead[],
): boolean {
  switch (rule) {
    case 'union':
      return true;
    case 'intersection':
      return holders.length === heads.length;
    case 'difference':
      return holders.length === 1 && holders[0] === heads[0];
  }
}

function leastOf(heads: readonly StreamHead[]): {
  readonly least: StreamHead;
  readonly holders: readonly StreamHead[];
} {
  let holders: StreamHead[] = [];
  for (const head of heads) {
    if (head.isDone) continue;
    const least = holders[0];
    const order = least === undefined ? -1 : head.compare(least);
    if (order < 0) holders = [head];
    else if (order === 0) holders.push(head);
  }
  const least = holders[0];
  if (least === undefined) throw new RangeError('all streams have ended');
  return { least, holders };
}

/** The first member of a stream that is not merged yet. */
class StreamHead {
  member: Uint8Array = new Uint8Array();
  isDone = false;
  readonly #batches: AsyncIterator<Batch>;
  readonly #positionOf: MergeInput['positionOf'];
  #batch: Batch = [];
  #next = 0;
  #position = 0;

  constructor(stream: AsyncIterable<Batch>, positionOf: MergeInput['positionOf']) {
    this.#batches = stream[Symbol.asyncIterator]();
    this.#positionOf = positionOf;
  }

  /** A promise only where the stream must be asked for more. */
  advance(): Promise<void> | undefined {
    const member = this.#batch[this.#next];
    if (member === undefined) return this.#refill();
    this.#take(member);
    return undefined;
  }

  compare(other: StreamHead): number {
    return this.#position - other.#position || Buffer.compare(this.member, other.member);
  }

  async close(): Promise<void> {
    await this.#batches.return?.();
  }

  async #refill(): Promise<void> {
    for (;;) {
      const next: IteratorResult<Batch, unknown> = await this.#batches.next();
      if (next.done === true) {
        this.isDone = true;
        return;
      }
      const [first] = next.value;
      if (first === undefined) continue;
      this.#batch = next.value;
      this.#next = 0;
      this.#take(first);
      return;
    }
  }

  #take(member: Uint8Array): void {
    this.member = member;
    this.#position = this.#positionOf(member);
    this.#next += 1;
  }
}
