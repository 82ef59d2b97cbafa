// Reads LevelDB's log, for two questions that LevelDB does not answer.
//
// Did a failed write reach it? A batch is one record of the log. If the file system detects the lack of space only at
// the sync, the whole record is in the file, and the next opening would replay it although its writer got an error. So
// after such a failure the end of the log is compared with the end of the batch.
//
// Has it lost writes? LevelDB drops damaged records silently. A power loss may do that to unsynced writes, so it is no
// reason to refuse the store, but it must not go unnoticed.
//
// The log is a sequence of blocks of 32 KiB. A record is split into fragments that do not cross a block, each
// preceded by a header of 7 bytes, so a header at the beginning of a block may be inside the bytes that are compared.
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../logger.js';
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

export interface DamagedLog {
  readonly file: string;
  /** Where the damage begins. */
  readonly offset: number;
  /** Nothing intact follows, so it may be a torn end: a write that a kill or a power loss has interrupted. */
  readonly isEnd: boolean;
}

/** K18: damaged records in front of intact ones are logged. A torn end is not: that is a write without an answer. */
export async function warnOfDamagedLogs(logger: Logger, directory: string): Promise<void> {
  for (const { file, offset, isEnd } of await findDamagedLogs(directory)) {
    if (isEnd) continue;
    const fields = { directory, file, offset };
    logger.error('damaged storage log: the writes in the damaged part are lost', fields);
  }
}

/** Must be called before LevelDB opens the directory: that replaces the logs by what was intact. */
export async function findDamagedLogs(directory: string): Promise<readonly DamagedLog[]> {
  const damaged: DamagedLog[] = [];
  const names = await readdir(directory).catch(() => []); // the opening reports what cannot be read
  for (const file of names.filter((name) => LOG_FILE.test(name))) {
    const log = await readFile(join(directory, file)).catch(() => Buffer.alloc(0));
    const found = findDamage(log);
    if (found !== undefined) damaged.push({ file, ...found });
  }
  return damaged;
}

/** The first record that is damaged or incomplete. */
export function findDamage(log: Buffer): Omit<DamagedLog, 'file'> | undefined {
  let at = 0;
  while (at < log.length) {
    const end = endOfRecord(log, at);
    if (end === undefined) return { offset: at, isEnd: !hasRecordAfter(log, at) };
    at = end;
  }
  return undefined;
}

function hasRecordAfter(log: Buffer, damaged: number): boolean {
  for (let at = damaged + 1; at < log.length; at += 1) {
    if (BLOCK_BYTES - (at % BLOCK_BYTES) < HEADER_BYTES) continue; // padding, or the end of the damaged record
    const type = log[at + 6] ?? 0;
    if (type >= FULL && type <= LAST && endOfRecord(log, at) !== undefined) return true;
  }
  return false;
}

/** Where the record that starts here ends; undefined if it is damaged or incomplete. */
function endOfRecord(log: Buffer, at: number): number | undefined {
  const blockEnd = at - (at % BLOCK_BYTES) + BLOCK_BYTES;
  if (blockEnd - at < HEADER_BYTES) return blockEnd; // padding
  if (at + HEADER_BYTES > log.length) return undefined;
  const start = at + HEADER_BYTES;
  const end = start + log.readUInt16LE(at + 4);
  const type = log[at + 6] ?? 0;
  if (end > blockEnd || end > log.length || type < FULL || type > LAST) return undefined;
  return log.readUInt32LE(at) === maskedCrc32c(log, at + 6, end) ? end : undefined;
}

const FULL = 1;
const LAST = 4;

/** CRC-32C, as LevelDB stores it: rotated and offset, since a checksum over bytes that contain one would be weak. */
function maskedCrc32c(bytes: Uint8Array, from: number, to: number): number {
  let crc = 0xffffffff;
  for (let at = from; at < to; at += 1)
    crc = (crc >>> 8) ^ (CRC32C_TABLE[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0);
  crc = ~crc >>> 0;
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

const CRC32C_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});
