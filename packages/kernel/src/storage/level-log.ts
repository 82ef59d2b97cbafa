// Did a failed write reach LevelDB's log? A batch is one record of the log. If the file system detects the lack of
// space only at the sync, the whole record is in the file, and the next opening would replay it although its writer
// got an error. So after such a failure the end of the log is compared with the end of the batch.
//
// The log is a sequence of blocks of 32 KiB. A record is split into fragments that do not cross a block, each
// preceded by a header of 7 bytes, so a header at the beginning of a block may be inside the bytes that are compared.
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CHECKSUM_BYTES, sealValue } from './sealed-value.js';
import type { WriteGroup } from './write-queue.js';

const BLOCK_BYTES = 32 * 1024;
const HEADER_BYTES = 7;
const LOG_FILE = /^(\d+)\.log$/;
/** Since the checksum over key and value is included, two different batches do not end alike. */
const COMPARED_BYTES_MAX = 64;

/** Whether the log of the store in this directory ends with this group. */
export async function isAtEndOfLog(directory: string, group: WriteGroup): Promise<boolean> {
  const wanted = endOf(group);
  const numbers = (await readdir(directory)).flatMap((name) => LOG_FILE.exec(name)?.[1] ?? []);
  const newest = numbers.sort((a, b) => Number(a) - Number(b)).at(-1);
  if (wanted === undefined || newest === undefined) return false;
  await using file = await open(join(directory, `${newest}.log`));
  const { size } = await file.stat();
  const start = Math.max(0, size - wanted.length - HEADER_BYTES);
  const bytes = Buffer.alloc(size - start);
  await file.read(bytes, 0, bytes.length, start);
  const content = bytes.filter((_, at) => (start + at) % BLOCK_BYTES >= HEADER_BYTES);
  return content.length >= wanted.length && wanted.equals(content.subarray(-wanted.length));
}

/** The last bytes of the record: a sealed value, or the key of a delete. */
function endOf({ batches }: WriteGroup): Buffer | undefined {
  const batch = batches.findLast(({ length }) => length > 0);
  if (batch === undefined) return undefined;
  const last = batch.length - 1;
  const keyStart = batch.bytes - batch.keyBytes(last) - batch.valueBytes(last);
  const valueStart = keyStart + batch.keyBytes(last);
  const sealed = Buffer.alloc(batch.valueBytes(last) + CHECKSUM_BYTES);
  if (!batch.isDelete(last)) sealValue(sealed, batch.content, keyStart, valueStart);
  const end = batch.isDelete(last)
    ? Buffer.from(batch.content.subarray(keyStart, valueStart))
    : sealed;
  return end.subarray(-COMPARED_BYTES_MAX);
}
