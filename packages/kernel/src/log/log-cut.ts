// Removes what is no longer part of a log: at a start what lies after its end, later what lies before its beginning.
//
// Each step of a cut leaves a log that the next start reads in the same way. The segment that contains the end is cut
// and synced first; the segments after it no longer continue it, so if they are still there after a crash they end
// the log at the same record. Their removal is synced before anything is appended, so they cannot come back after
// newer records.
//
// K42  A cut that is interrupted at any point is completed by the next start, at the same record.
import { SynclineError } from '../error.js';
import { isTemporary } from '../files/file-system-error.js';
import type { Files } from '../files/files.js';
import type { Logger } from '../logger.js';
import type { LogEnd, ReplayedLog } from './log-replay.js';
import { CHAIN_START, encodeSegmentHeader, RecordChain, Segment } from './segment-format.js';

export interface LogCutDeps {
  readonly files: Files;
  readonly logger: Logger;
}

export interface LogCutOptions {
  readonly directory: string;
  readonly owner: Uint8Array;
  readonly replayFrom: number;
}

/** The log as it is on disk from now on, all of it durable. */
export interface SettledLog {
  readonly segments: Segment[];
  readonly chain: RecordChain;
  /** Bytes that were after the end. */
  readonly cutBytes: number;
}

/** Creates the directory if it is missing and makes its name durable, and those of its parents. */
export async function makeLogDirectory(files: Files, directory: string): Promise<void> {
  await files.makeDir(directory);
  const names = directory.split('/');
  for (let depth = 0; depth < names.length; depth += 1) {
    await files.syncDir(names.slice(0, depth).join('/'));
  }
}

export async function settleLog(
  deps: LogCutDeps,
  options: LogCutOptions,
  replayed: ReplayedLog,
): Promise<SettledLog> {
  const { files } = deps;
  const { found, firstRead, chain, end } = replayed;
  const cutBytes = end === undefined ? 0 : bytesBehind(found, end);
  if (end !== undefined) reportCut(deps.logger, replayed, end, cutBytes);
  if (chain === undefined || found.length === 0) {
    const segments = await restart(files, options, found);
    return { segments, chain: new RecordChain(options.replayFrom, CHAIN_START), cutBytes };
  }
  const segments = end === undefined ? [...found] : await cut(files, found, end);
  // A killed process may have left records that only the operating system has.
  for (const { path } of segments.slice(firstRead)) await files.sync(path);
  await files.syncDir(options.directory);
  return { segments, chain, cutBytes };
}

function bytesBehind(found: readonly Segment[], { index, offset }: LogEnd): number {
  return found.slice(index).reduce((sum, { bytes }) => sum + bytes, -offset);
}

function reportCut(
  logger: Logger,
  { found, chain }: ReplayedLog,
  { index, offset, reason }: LogEnd,
  cutBytes: number,
): void {
  const segment = found[index]?.path;
  const isLastEmpty = cutBytes === 0 && chain !== undefined;
  if (isLastEmpty) {
    logger.debug('empty log segment removed', { segment });
    return;
  }
  const segmentsRemoved = found.length - index - (offset > 0 ? 1 : 0);
  logger.warn('log truncated at the first bad record', {
    segment,
    offset,
    reason,
    bytesDropped: cutBytes,
    segmentsRemoved,
    nextNumber: chain?.nextNumber,
  });
}

/** Cuts the segment that contains the end and removes those after it. */
async function cut(files: Files, found: readonly Segment[], end: LogEnd): Promise<Segment[]> {
  const keptCount = end.offset > 0 ? end.index + 1 : end.index;
  const kept = found.slice(0, keptCount);
  const last = kept.at(-1);
  if (end.offset > 0 && last !== undefined && end.offset < last.bytes) {
    await withHandle(files, last.path, (handle) => handle.truncate(end.offset));
    last.bytes = end.offset;
  }
  for (const { path } of found.slice(keptCount).reverse()) await files.remove(path);
  return kept;
}

/**
 * The log is new, or no segment is good up to `replayFrom`, whose caller has a snapshot of everything before it: the
 * log starts there. The first segment is durable before the others are removed, so that a crash in between does not
 * look like a lost log, and before anything is appended, so that a power loss cannot leave a later segment without
 * it.
 */
async function restart(
  files: Files,
  options: LogCutOptions,
  found: readonly Segment[],
): Promise<Segment[]> {
  const { directory, replayFrom } = options;
  const first = new Segment(directory, replayFrom, 0);
  const isThere = await createFirst(files, options, first);
  const isOld = ({ path }: Segment) => path !== first.path;
  for (const { path } of found.filter(isOld).reverse()) await files.remove(path);
  await files.syncDir(directory);
  return isThere ? [first] : [];
}

/** False if there is no space for it, and nothing depends on it: then the first append creates it. */
async function createFirst(
  files: Files,
  { directory, owner, replayFrom }: LogCutOptions,
  first: Segment,
): Promise<boolean> {
  const header = encodeSegmentHeader({ owner, firstNumber: replayFrom, chainCrc: CHAIN_START });
  try {
    await withHandle(files, first.path, (handle) => {
      handle.truncate(0);
      handle.append([header]);
    });
  } catch (thrown) {
    if (replayFrom > 1 || !isTemporary(thrown)) throw thrown;
    if ((await files.stat(first.path)) !== undefined) await files.remove(first.path);
    return false;
  }
  await files.syncDir(directory);
  first.bytes = header.length;
  return true;
}

/** Changes one file and makes the change durable. */
async function withHandle(
  files: Files,
  path: string,
  change: (handle: ReturnType<Files['openAppend']>) => void,
): Promise<void> {
  const handle = files.openAppend(path);
  try {
    change(handle);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Removes the segments whose records are all below `number`, except the newest. Oldest first, and each removal is
 * durable before the next one: a power loss never leaves a gap between segments. The names of those that stay are
 * durable before the first one is removed, so it does not leave an empty log either.
 */
export async function dropSegments(
  files: Files,
  directory: string,
  segments: Segment[],
  number: number,
): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    const [oldest, second] = segments;
    if (oldest === undefined || second === undefined || second.firstNumber > number) return;
    if (isFirst) await files.syncDir(directory);
    await files.remove(oldest.path).catch(ignoreMissing);
    segments.shift();
    await files.syncDir(directory);
  }
}

/** An operator may have removed it. */
function ignoreMissing(thrown: unknown): void {
  if (!(thrown instanceof SynclineError) || thrown.code !== 'not-found') throw thrown;
}
