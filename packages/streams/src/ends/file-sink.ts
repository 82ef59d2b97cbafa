// Part files: one file of JSON lines per epoch, which appears atomically.
//
// An epoch is written to `.staging`, synced, and renamed into place after the commit point. A repeated commit finds the
// final file and compares it; it never overwrites. `.owner` contains the pipeline and its fence, so that a pipeline
// running on a copy of the checkpoint directory, or a process that was presumed dead, cannot write here too.
//
// X39  A committed part file is durable under its name before the commit is reported.
import {
  type AppendHandle,
  assert,
  type Files,
  type OptionNames,
  refuseUnknownOptions,
  SynclineError,
} from '@syncline/kernel';
import { crc32 } from '@syncline/kernel/node';
import { badRecord } from '../state/state-error.js';
import { makeDurableDir, writeWhole } from '../store/directory.js';
import { padded } from '../store/layout.js';
import { checkFence, foreignOutput, optionMissing, type StoredFence } from './end-error.js';
import type { CommitResult, Fence, Output, Sink, SinkMark } from './sink.js';
import type { EndPorts, Json } from './source.js';

export interface FileSinkOptions {
  readonly uid: string;
  /** Created if needed. Must not be shared with other sinks. */
  readonly dir: string;
}

const OPTIONS: OptionNames<FileSinkOptions> = { uid: true, dir: true };

/** The part file that is being written. */
export interface PartTxn {
  readonly epoch: number;
  readonly slot: number;
  readonly staging: string;
  handle: AppendHandle | undefined;
  bytes: number;
  crc: number;
}

interface PartHandle {
  readonly epoch: number;
  readonly slot: number;
  readonly staging: string;
  readonly bytes: number;
  readonly crc: number;
}

const PART = /^part-(\d{10})-(\d+)\.jsonl$/;
const STAGED = /^part-(\d{10})-(\d+)-g(\d+)-a(\d+)\.tmp$/;
const READ_BYTES = 1024 * 1024;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const COMMA = 0x2c;
const NEWLINE = 0x0a;

export function fileSink(options: FileSinkOptions): Sink<unknown, PartTxn> {
  refuseUnknownOptions(options, 'fileSink', OPTIONS);
  if (typeof options.dir !== 'string') throw optionMissing('fileSink', 'dir', 'a directory');
  return new FileSink(options);
}

class FileSink implements Sink<unknown, PartTxn> {
  readonly uid: string;
  readonly contract = 'transactional';
  readonly #dir: string;
  #files: Files | undefined;
  #path = '';
  #fence: Fence | undefined;
  /** No output so far had a list of objects, so encoding them together is worth trying. */
  #hasNoLists = true;

  constructor({ uid, dir }: FileSinkOptions) {
    this.uid = uid;
    this.#dir = dir;
  }

  attach({ files, path }: EndPorts): void {
    this.#files = files;
    this.#path = path(this.#dir);
  }

  get #disk(): Files {
    assert(this.#files !== undefined, 'a sink is attached before it is used');
    return this.#files;
  }

  async mark(): Promise<SinkMark | null> {
    const owner = await this.#owner();
    if (owner === undefined) return null;
    const epochs = (await this.#disk.list(this.#path)).flatMap((name) => {
      const epoch = PART.exec(name)?.[1];
      return epoch === undefined ? [] : [Number(epoch)];
    });
    const epoch = epochs.reduce((high, each) => Math.max(high, each), 0);
    return { pipeline: owner.pipeline, generation: owner.generation, epoch };
  }

  async #owner(): Promise<StoredFence | undefined> {
    const place = `${this.#path}/.owner`;
    if ((await this.#disk.stat(place)) === undefined) return undefined;
    const text = Buffer.from(await this.#disk.readAt(place, 0, 4_096)).toString('utf8');
    try {
      return JSON.parse(text) as StoredFence;
    } catch {
      throw new SynclineError('corrupt', `${place} is damaged: it has ${JSON.stringify(text)}`, {
        details: { path: place },
      });
    }
  }

  async recover(owed: readonly Json[], fence: Fence): Promise<void> {
    const files = this.#disk;
    await makeDurableDir(files, `${this.#path}/.staging`);
    const owner = await this.#owner();
    if (owner === undefined) await this.#checkEmpty();
    else checkFence(this.uid, owner, fence);
    const { pipeline, generation, token } = fence;
    if (owner?.generation !== generation) {
      await writeWhole(
        files,
        this.#path,
        '.owner',
        `${JSON.stringify({ pipeline, generation, token })}\n`,
      );
    }
    this.#fence = fence;
    for (const handle of owed) await this.commit(handle);
    for (const name of await files.list(`${this.#path}/.staging`)) {
      if (STAGED.test(name)) await files.remove(`${this.#path}/.staging/${name}`);
    }
  }

  async #checkEmpty(): Promise<void> {
    const parts = (await this.#disk.list(this.#path)).filter((name) => PART.test(name));
    if (parts.length > 0) {
      throw foreignOutput(this.uid, `${this.#dir} has ${parts[0]} but no file .owner`);
    }
  }

  async begin(epoch: number, slot: number, fence: Fence): Promise<PartTxn> {
    const { generation, attempt } = fence;
    const staging = `part-${padded(epoch)}-${slot}-g${generation}-a${attempt}.tmp`;
    return { epoch, slot, staging, handle: undefined, bytes: 0, crc: 0 };
  }

  async write(txn: PartTxn, outputs: readonly Output<unknown>[]): Promise<void> {
    txn.handle ??= this.#disk.openAppend(`${this.#path}/.staging/${txn.staging}`);
    const bytes = this.#linesOf(outputs.map(({ value }) => value));
    txn.handle.append([bytes]);
    txn.crc = crc32(bytes, txn.crc);
    txn.bytes += bytes.length;
  }

  #linesOf(values: readonly unknown[]): Buffer {
    if (this.#hasNoLists && values.length > 0 && values.every(isPlain)) {
      const lines = splitArray(Buffer.from(jsonOf(this.uid, values)), values.length);
      if (lines !== undefined) return lines;
      this.#hasNoLists = false;
    }
    return Buffer.from(values.map((value) => `${jsonOf(this.uid, value)}\n`).join(''));
  }

  async prepare(txn: PartTxn): Promise<Json> {
    const { epoch, slot, staging, handle, bytes, crc } = txn;
    if (handle === undefined) return null;
    await handle.sync();
    await handle.close();
    txn.handle = undefined;
    await this.#disk.syncDir(`${this.#path}/.staging`);
    return { epoch, slot, staging, bytes, crc };
  }

  async commit(given: Json): Promise<CommitResult> {
    const handle = given as unknown as PartHandle;
    const files = this.#disk;
    const fence = this.#fence;
    assert(fence !== undefined, 'a sink is recovered before it commits');
    const owner = await this.#owner();
    if (owner !== undefined) checkFence(this.uid, owner, fence);
    const name = `part-${padded(handle.epoch)}-${handle.slot}.jsonl`;
    const final = `${this.#path}/${name}`;
    const staged = `${this.#path}/.staging/${handle.staging}`;
    let result: CommitResult = 'already';
    if ((await files.stat(final)) !== undefined) await this.#checkSame(final, handle);
    else {
      if ((await files.stat(staged)) === undefined) throw this.#lost(name, handle);
      await files.rename(staged, final);
      result = 'committed';
    }
    // Even if it already existed: the process that renamed it may have died before syncing.
    await files.syncDir(this.#path);
    await files.syncDir(`${this.#path}/.staging`);
    return result;
  }

  async #checkSame(final: string, { bytes, crc }: PartHandle): Promise<void> {
    const stat = await this.#disk.stat(final);
    let found = 0;
    for (let offset = 0; offset < bytes && stat?.bytes === bytes; offset += READ_BYTES) {
      found = crc32(await this.#disk.readAt(final, offset, READ_BYTES), found);
    }
    if (stat?.bytes === bytes && found === crc) return;
    throw foreignOutput(
      this.uid,
      `${final} has ${stat?.bytes} bytes with checksum ${found} instead of ${bytes} bytes with checksum ${crc}`,
    );
  }

  #lost(name: string, { epoch }: PartHandle): SynclineError {
    return new SynclineError(
      'out-of-step',
      `sink "${this.uid}" has neither ${name} nor its staged form, although epoch ${epoch} is committed. ` +
        'Part files must not be removed before the next epoch; restore it from a copy.',
      { details: { uid: this.uid, epoch, name } },
    );
  }

  async abort(txn: PartTxn): Promise<void> {
    const { handle, staging } = txn;
    txn.handle = undefined;
    await handle?.close();
    const place = `${this.#path}/.staging/${staging}`;
    if ((await this.#disk.stat(place)) !== undefined) await this.#disk.remove(place);
  }
}

/** Whether it is certain that the JSON of a value is an object. */
function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.getPrototypeOf(value) === Object.prototype && !('toJSON' in value);
}

/**
 * Splits the JSON of an array into lines: encoding many values together takes half the time. Each must be an object, so
 * `},{` is between any two. Undefined if it also occurs elsewhere, as in a list of objects: there are too many then.
 */
function splitArray(bytes: Buffer, count: number): Buffer | undefined {
  let lines = 1;
  for (let at = bytes.indexOf(CLOSE); at >= 0; at = bytes.indexOf(CLOSE, at + 1)) {
    if (bytes[at + 1] !== COMMA || bytes[at + 2] !== OPEN) continue;
    bytes[at + 1] = NEWLINE;
    lines += 1;
  }
  bytes[bytes.length - 1] = NEWLINE;
  return lines === count ? bytes.subarray(1) : undefined;
}

function jsonOf(uid: string, value: unknown): string {
  try {
    const json = JSON.stringify(value);
    if (json !== undefined) return json;
  } catch (thrown) {
    throw badRecord(`sink "${uid}" cannot write an output as JSON: ${(thrown as Error).message}`);
  }
  throw badRecord(`sink "${uid}" cannot write ${String(value)} as JSON`);
}
