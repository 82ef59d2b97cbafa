// The files of a node, with an observer of what reaches the log and what of it survives a power loss. Segments
// are large in these runs, so there is one.
import { type AppendHandle, type Files, SynclineError, VersionVector } from '@syncline/kernel';
import type { ClusterHistory } from './cluster-history.js';

const SEGMENT = /^log\/\d{16}\.log$/;
const HEADER_BYTES = 25;
const OWNER_LENGTH_AT = 8;
const RECORD_HEAD_BYTES = 9;
const OPERATIONS = 1;
const REPAIR_END = 3;
const REPAIR_END_HEAD_BYTES = 4;

/** What the log of a node holds. */
export class LogContent {
  appended = new VersionVector();
  synced = new VersionVector();
}

export function watchLog(files: Files, content: LogContent, history: ClusterHistory): Files {
  return {
    readAt: (path, offset, length) => files.readAt(path, offset, length),
    append: (path, bytes) => files.append(path, bytes),
    rename: (from, to) => files.rename(from, to),
    list: (path) => files.list(path),
    stat: (path) => files.stat(path),
    remove: (path) => files.remove(path),
    makeDir: (path) => files.makeDir(path),
    sync: (path) => files.sync(path),
    syncDir: (path) => files.syncDir(path),
    openAppend(path) {
      const handle = files.openAppend(path);
      return SEGMENT.test(path) ? watchHandle(handle, content, history) : handle;
    },
  };
}

function watchHandle(
  handle: AppendHandle,
  content: LogContent,
  history: ClusterHistory,
): AppendHandle {
  return {
    path: handle.path,
    get length() {
      return handle.length;
    },
    append(parts) {
      const bytes = Buffer.concat(parts);
      const at = handle.length > 0 ? 0 : HEADER_BYTES + (bytes[OWNER_LENGTH_AT] ?? 0);
      try {
        handle.append(parts);
      } catch (thrown) {
        if (thrown instanceof SynclineError) throw thrown;
        // The process has died in this very call, so the record may or may not be there.
        if (bytes.length > at) seeRecord(bytes.subarray(at));
        throw thrown;
      }
      if (bytes.length > at) seeRecord(bytes.subarray(at));
    },
    truncate: (to) => handle.truncate(to),
    async sync() {
      const appended = content.appended.copy();
      await handle.sync();
      content.synced.merge(appended);
    },
    close: () => handle.close(),
  };

  function seeRecord(record: Uint8Array): void {
    const kind = record[RECORD_HEAD_BYTES - 1];
    const body = record.slice(RECORD_HEAD_BYTES);
    if (kind === OPERATIONS) {
      for (const operation of history.decode(body)) {
        const { actor, base, count } = operation;
        history.stored(operation);
        content.appended.advance(actor, base + count - 1);
      }
    } else if (kind === REPAIR_END) {
      content.appended.merge(VersionVector.fromBytes(body.slice(REPAIR_END_HEAD_BYTES)));
    }
  }
}
