// The files of one node, with a history that sees every record before it reaches the log.
import { type AppendHandle, type Files, SynclineError } from '@syncline/kernel';
import type { MeshHistory } from './mesh-history.js';

const SEGMENT = /^log\/\d{16}\.log$/;
/** Of a segment's header without its owner, and where the length of that stands. */
const HEADER_BYTES = 25;
const OWNER_LENGTH_AT = 8;
/** Length, checksum, kind. */
const RECORD_HEAD_BYTES = 9;
const KIND_AT = 8;
const OPERATIONS = 1;

export function watchLog(files: Files, nodeId: number, history: MeshHistory): Files {
  const append = (handle: AppendHandle, parts: readonly Uint8Array[]) => {
    const bytes = Buffer.concat(parts);
    const headerBytes = handle.length > 0 ? 0 : HEADER_BYTES + (bytes[OWNER_LENGTH_AT] ?? 0);
    const isOperations = bytes[headerBytes + KIND_AT] === OPERATIONS;
    const forget = isOperations
      ? history.appending(nodeId, bytes.subarray(headerBytes + RECORD_HEAD_BYTES))
      : () => {};
    try {
      handle.append(parts);
    } catch (thrown) {
      if (thrown instanceof SynclineError) forget();
      throw thrown;
    }
  };
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
      if (!SEGMENT.test(path)) return handle;
      return {
        path,
        get length() {
          return handle.length;
        },
        append: (parts) => append(handle, parts),
        truncate: (to) => handle.truncate(to),
        sync: () => handle.sync(),
        close: () => handle.close(),
      };
    },
  };
}
