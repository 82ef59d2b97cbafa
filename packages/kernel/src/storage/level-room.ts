// Is there space to reopen this store, and to continue writing?
//
// Opening a LevelDB turns its logs into tables and writes a new manifest, so it needs space itself. If it runs out
// half way nothing is lost, but then nothing can be read either. So space is checked while the old handle still
// serves reads: first by the numbers, then by actually allocating it for a moment, since quotas and reserved blocks
// do not show in the numbers.
import { randomBytes } from 'node:crypto';
import { open, readdir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { SynclineError } from '../error.js';
import { errnoOf, fileSystemError } from '../files/file-system-error.js';
import { kernelLimits } from '../limits.js';

export interface Room {
  readonly bytesFree: number;
  readonly bytesNeeded: number;
}

/** A table can be twice its log: small entries gain a sequence number, an index and a filter. */
const TABLE_BYTES_PER_LOG_BYTE = 2;
const PROBE_FILE = 'room.tmp';
const PROBE_CHUNK_BYTES = 1024 * 1024;

/** `writeBytes` is the size of the waiting writes. */
export async function measureRoom(directory: string, writeBytes: number): Promise<Room> {
  const { bavail, bsize } = await statfs(directory);
  const bytesToRewrite = await bytesOfLogs(directory);
  const bytesNeeded =
    TABLE_BYTES_PER_LOG_BYTE * (bytesToRewrite + writeBytes) +
    kernelLimits.storageReopenRoomBytes.value;
  return { bytesFree: bavail * bsize, bytesNeeded };
}

/** Throws `storage-full` when less than `bytesNeeded` can really be written. */
export async function provideRoom(directory: string, room: Room): Promise<void> {
  if (room.bytesFree < room.bytesNeeded) throw fullStore(directory, room);
  const probe = join(directory, PROBE_FILE);
  try {
    await writeProbe(probe, room.bytesNeeded);
  } catch (thrown) {
    const error = fileSystemError({
      action: 'check the free space in',
      path: directory,
      errno: errnoOf(thrown),
      cause: thrown,
    });
    throw error.code === 'storage-full' ? fullStore(directory, room, thrown) : error;
  } finally {
    await rm(probe, { force: true });
  }
}

/** A process that was killed in the middle of a probe may have left a file that takes up space. */
export async function removeProbe(directory: string): Promise<void> {
  const path = join(directory, PROBE_FILE);
  try {
    await rm(path, { force: true });
  } catch (cause) {
    throw fileSystemError({ action: 'remove', path, errno: errnoOf(cause), cause });
  }
}

export function fullStore(directory: string, room: Room, cause?: unknown): SynclineError {
  const { bytesFree, bytesNeeded } = room;
  return new SynclineError(
    'storage-full',
    `cannot write to ${directory}: no space left on its disk (${mebibytes(bytesFree)} free, ` +
      `${mebibytes(bytesNeeded)} needed). Reads continue. Free some space; no restart is needed.`,
    { details: { directory, bytesFree, bytesNeeded }, cause },
  );
}

async function bytesOfLogs(directory: string): Promise<number> {
  const names = await readdir(directory);
  const logs = names.filter((name) => name.endsWith('.log') || name.startsWith('MANIFEST-'));
  const sizes = await Promise.all(logs.map((name) => sizeOf(join(directory, name))));
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

/** LevelDB may remove a log between the listing and the check. */
async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT') return 0;
    throw thrown;
  }
}

/** Random bytes, since a file system that compresses would have space for any number of zeros. */
async function writeProbe(path: string, bytes: number): Promise<void> {
  const chunk = randomBytes(PROBE_CHUNK_BYTES);
  await using file = await open(path, 'w');
  for (let left = bytes; left > 0; left -= PROBE_CHUNK_BYTES) {
    await file.appendFile(chunk.subarray(0, Math.min(left, PROBE_CHUNK_BYTES)));
  }
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
