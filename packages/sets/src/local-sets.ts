// The library's face of the sets of this node: promises over the keyspace that commands use, too.
import { SynclineError, type VersionVector } from '@syncline/kernel';
import { ByteList } from './byte-list.js';
import type { Digest } from './keyspace.js';
import { setsLimits } from './limits.js';
import type { RespPeer, RespSession, Sets, SetsStatus } from './sets.js';
import type { SetsEngine } from './sets-engine.js';

/** Elements of one operation where a change needs several. */
const PART_ELEMENTS = 4_096;

export interface LocalSetsDeps {
  readonly engine: SetsEngine;
  connect(peer: RespPeer): RespSession;
  status(): SetsStatus;
  close(): Promise<void>;
}

export class LocalSets implements Sets {
  readonly #deps: LocalSetsDeps;
  readonly #engine: SetsEngine;
  #closing: Promise<void> | undefined;

  constructor(deps: LocalSetsDeps) {
    this.#deps = deps;
    this.#engine = deps.engine;
  }

  add(set: Uint8Array, members: readonly Uint8Array[]): Promise<number> {
    return this.#change('add', listOf(set, members));
  }

  remove(set: Uint8Array, members: readonly Uint8Array[]): Promise<number> {
    return this.#change('remove', listOf(set, members));
  }

  has(set: Uint8Array, member: Uint8Array): boolean {
    return this.#read(() => this.#engine.keyspace.has(ByteList.of(set, member), 0, 1));
  }

  cardinality(set: Uint8Array): number {
    return this.#read(() => this.#engine.keyspace.cardinality(ByteList.of(set), 0));
  }

  async *members(set: Uint8Array, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    const view = await this.#engine.keyspace.openView(signal ?? new AbortController().signal);
    try {
      for await (const batch of view.members(set)) {
        signal?.throwIfAborted();
        yield* batch;
      }
    } finally {
      view.close();
    }
  }

  version(): VersionVector {
    return this.#read(() => this.#engine.keyspace.version());
  }

  digest(): Digest {
    return this.#read(() => this.#engine.keyspace.digest());
  }

  settled(): Promise<void> {
    return this.#engine.commits.allSettled();
  }

  connect(peer: RespPeer): RespSession {
    return this.#deps.connect(peer);
  }

  status(): SetsStatus {
    return this.#deps.status();
  }

  close(): Promise<void> {
    this.#closing ??= this.#deps.close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #change(kind: 'add' | 'remove', list: ByteList): Promise<number> {
    const { keyspace } = this.#engine;
    const admitted = keyspace.admit('write');
    if (admitted !== undefined) await admitted;
    try {
      const changed = keyspace[kind](list, 0, 1);
      await this.#settled(keyspace.takeCommitSeen());
      return changed;
    } catch (thrown) {
      const isTooLarge = thrown instanceof SynclineError && thrown.code === 'limit-exceeded';
      if (!isTooLarge) throw thrown;
    }
    return this.#changeInParts(kind, list);
  }

  /** Larger than one operation: several of them behind the closed gate, which may be seen half done. */
  async #changeInParts(kind: 'add' | 'remove', list: ByteList): Promise<number> {
    const { keyspace } = this.#engine;
    const hold = await keyspace.closeGate(new AbortController().signal);
    let changed = 0;
    try {
      for (let from = 1; from < list.length; ) {
        const pause = hold.room() ?? keyspace.breathe();
        if (pause !== undefined) await pause;
        const to = partEnd(list, from);
        changed += keyspace[kind](list, 0, from, to);
        from = to;
      }
      keyspace.takeCommitSeen();
      await hold.settled();
    } finally {
      hold.release();
    }
    return changed;
  }

  #settled(commit: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#engine.commits.whenSettled(commit, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** A caller in the same process may see it at once; who sends it on waits for `settled`. */
  #read<Result>(read: () => Result): Result {
    const result = read();
    this.#engine.keyspace.takeCommitSeen();
    return result;
  }
}

function partEnd(list: ByteList, from: number): number {
  const bytesMax = setsLimits.operationBytesMax.value / 4;
  let bytes = 0;
  let to = from;
  while (to < list.length && to < from + PART_ELEMENTS && bytes < bytesMax) {
    bytes += list.sizeOf(to);
    to += 1;
  }
  return to;
}

/** The set, then its members. */
function listOf(set: Uint8Array, members: readonly Uint8Array[]): ByteList {
  checkSize(set, setsLimits.keyBytesMax.value, 'set');
  for (const member of members) checkSize(member, setsLimits.memberBytesMax.value, 'member');
  return ByteList.from([set, ...members]);
}

function checkSize(bytes: Uint8Array, bytesMax: number, field: string): void {
  if (bytes.length <= bytesMax) return;
  throw new SynclineError(
    'invalid-argument',
    `the ${field} has ${bytes.length} bytes, at most ${bytesMax} are allowed`,
    { details: { field } },
  );
}
