// The files of the process, as they are, with a history that sees every record reach the log and become durable.
//
// A record survives a loss of power once its bytes are synced and the name of its segment is. Both are counted here
// from what the file system was asked for and has confirmed, not from what the log believes.
import { type AppendHandle, assert, type Files, SynclineError } from '@syncline/kernel';
import type { SetsHistory } from './sets-history.js';

const DIRECTORY = 'log';
const SEGMENT = /^log\/\d{16}\.log$/;
/** Of a segment's header without its owner, and where the length of that stands. */
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
  readonly inner: Files;
  readonly history: SetsHistory;
  readonly onTrouble: (kind: 'full' | 'failed') => void;
}

export class WatchedFiles implements Files {
  readonly #deps: WatchedFilesDeps;
  readonly #inner: Files;
  readonly #segments = new Map<string, WatchedSegment>();
  /** Of records that a loss of power may take, oldest first. */
  readonly #unsynced: Place[] = [];

  constructor(deps: WatchedFilesDeps) {
    this.#deps = deps;
    this.#inner = deps.inner;
  }

  openAppend(path: string): AppendHandle {
    const handle = this.#inner.openAppend(path);
    if (!SEGMENT.test(path)) return handle;
    const isOld = handle.length > 0; // it was made durable when the log was opened
    const segment = this.#segments.get(path) ?? { syncedBytes: handle.length, isNamed: isOld };
    this.#segments.set(path, segment);
    return {
      path,
      get length() {
        return handle.length;
      },
      append: (parts) => this.#append(handle, segment, parts),
      truncate: (length) => {
        handle.truncate(length);
        segment.syncedBytes = Math.min(segment.syncedBytes, length);
      },
      sync: () => this.#sync(handle, segment),
      close: () => handle.close(),
    };
  }

  async sync(path: string): Promise<void> {
    await this.#inner.sync(path).catch((thrown: unknown) => {
      throw this.#trouble(thrown);
    });
  }

  async syncDir(path: string): Promise<void> {
    const named = path === DIRECTORY ? [...this.#segments.values()] : [];
    await this.#inner.syncDir(path).catch((thrown: unknown) => {
      throw this.#trouble(thrown);
    });
    for (const segment of named) segment.isNamed = true;
    this.#countSynced();
  }

  readAt(path: string, offset: number, length: number): Promise<Uint8Array> {
    return this.#inner.readAt(path, offset, length);
  }

  append(path: string, bytes: Uint8Array): Promise<void> {
    return this.#inner.append(path, bytes);
  }

  rename(from: string, to: string): Promise<void> {
    return this.#inner.rename(from, to);
  }

  list(path: string): Promise<readonly string[]> {
    return this.#inner.list(path);
  }

  stat(path: string): ReturnType<Files['stat']> {
    return this.#inner.stat(path);
  }

  remove(path: string): Promise<void> {
    return this.#inner.remove(path);
  }

  makeDir(path: string): Promise<void> {
    return this.#inner.makeDir(path);
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
      throw this.#trouble(thrown);
    }
    this.#unsynced.push({ number: history.appended(), segment, end: handle.length });
  }

  async #sync(handle: AppendHandle, segment: WatchedSegment): Promise<void> {
    const { length } = handle;
    try {
      await handle.sync();
    } catch (thrown) {
      throw this.#trouble(thrown);
    }
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

  #trouble(thrown: unknown): unknown {
    if (!(thrown instanceof SynclineError)) return thrown; // the process has ended
    const isFull = thrown.code === 'storage-full';
    if (!isFull) this.#deps.history.life.hasSyncFailed = true;
    this.#deps.onTrouble(isFull ? 'full' : 'failed');
    return thrown;
  }
}
