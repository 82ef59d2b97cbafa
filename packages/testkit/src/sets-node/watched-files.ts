// The files of the process, unchanged, with a history that records when each record reaches the log and becomes
// durable.
//
// A record survives a power loss once its bytes and the name of its segment are synced. Both are counted here from
// what the file system was asked for and has confirmed, not from what the log assumes.
import { type AppendHandle, assert, type Files, SynclineError } from '@syncline/kernel';
import type { SetsHistory } from './sets-history.js';

const SEGMENT = /^log\/\d{16}\.log$/;
/** The size of a segment's header without its owner, and the offset of the owner's length. */
const HEADER_BYTES = 25;
const OWNER_LENGTH_AT = 8;
const RECORD_HEAD_BYTES = 9;

interface WatchedSegment {
  syncedBytes: number;
  isNamed: boolean;
}

interface Place {
  readonly number: number;
  readonly segment: WatchedSegment;
  readonly end: number;
}

export interface WatchedFilesDeps {
  readonly files: Files;
  readonly history: SetsHistory;
  readonly onTrouble: (kind: 'full' | 'failed') => void;
}

export function watchFiles(deps: WatchedFilesDeps): Files {
  const { files } = deps;
  const watch = new LogWatch(deps);
  return {
    readAt: (path, offset, length) => files.readAt(path, offset, length),
    append: (path, bytes) => files.append(path, bytes),
    rename: (from, to) => files.rename(from, to),
    list: (path) => files.list(path),
    stat: (path) => files.stat(path),
    remove: (path) => files.remove(path),
    makeDir: (path) => files.makeDir(path),
    sync: (path) => files.sync(path).catch((thrown: unknown) => watch.fail(thrown)),
    syncDir: (path) => watch.syncDir(path),
    openAppend(path) {
      const handle = files.openAppend(path);
      return SEGMENT.test(path) ? watch.open(handle) : handle;
    },
  };
}

class LogWatch {
  readonly #deps: WatchedFilesDeps;
  readonly #segments = new Map<string, WatchedSegment>();
  /** Records that a power loss may take, oldest first. */
  readonly #unsynced: Place[] = [];

  constructor(deps: WatchedFilesDeps) {
    this.#deps = deps;
  }

  open(handle: AppendHandle): AppendHandle {
    const { path, length } = handle;
    // A segment that is not empty was made durable when the log was opened.
    const segment = this.#segments.get(path) ?? { syncedBytes: length, isNamed: length > 0 };
    this.#segments.set(path, segment);
    return {
      path,
      get length() {
        return handle.length;
      },
      append: (parts) => this.#append(handle, segment, parts),
      truncate(to) {
        handle.truncate(to);
        segment.syncedBytes = Math.min(segment.syncedBytes, to);
      },
      sync: () => this.#sync(handle, segment),
      close: () => handle.close(),
    };
  }

  async syncDir(path: string): Promise<void> {
    const named = path === 'log' ? [...this.#segments.values()] : [];
    await this.#deps.files.syncDir(path).catch((thrown: unknown) => this.fail(thrown));
    for (const segment of named) segment.isNamed = true;
    this.#countSynced();
  }

  fail(thrown: unknown): never {
    if (thrown instanceof SynclineError) {
      const isFull = thrown.code === 'storage-full';
      if (!isFull) this.#deps.history.life.hasSyncFailed = true;
      this.#deps.onTrouble(isFull ? 'full' : 'failed');
    }
    throw thrown;
  }

  #append(handle: AppendHandle, segment: WatchedSegment, parts: readonly Uint8Array[]): void {
    const { history } = this.#deps;
    const bytes = Buffer.concat(parts);
    const headerBytes = handle.length > 0 ? 0 : HEADER_BYTES + (bytes[OWNER_LENGTH_AT] ?? 0);
    if (bytes.length === headerBytes) {
      handle.append(parts);
      return;
    }
    const bodyAt = headerBytes + RECORD_HEAD_BYTES;
    assert(bytes.readUInt32BE(headerBytes) === bytes.length - bodyAt, 'an append is one record');
    history.appending(bytes.subarray(bodyAt));
    try {
      handle.append(parts);
    } catch (thrown) {
      if (thrown instanceof SynclineError) history.refused();
      this.fail(thrown);
    }
    this.#unsynced.push({ number: history.appended(), segment, end: handle.length });
  }

  async #sync(handle: AppendHandle, segment: WatchedSegment): Promise<void> {
    const { length } = handle;
    await handle.sync().catch((thrown: unknown) => this.fail(thrown));
    segment.syncedBytes = Math.max(segment.syncedBytes, length);
    this.#countSynced();
  }

  #countSynced(): void {
    for (let place = this.#unsynced[0]; place !== undefined; place = this.#unsynced[0]) {
      const { number, segment, end } = place;
      if (!segment.isNamed || segment.syncedBytes < end) return;
      this.#unsynced.shift();
      this.#deps.history.synced(number);
    }
  }
}
