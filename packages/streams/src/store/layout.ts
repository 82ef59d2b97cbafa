// The layout of the Storage in a checkpoint directory, and the contents of `meta`, `gen` and `head`.
//
//   meta, gen, head                        the pipeline, its fence, the last committed epoch
//   op/<uid>/<state>                       table of a state: kind, codec, segments or counts per key group
//   seg/<uid>/<state>/<group>/<epoch>      state in memory: the entries of a group that an epoch changed
//   kv/<uid>/<state>/<group>/<key>         embedded state: one entry (stored-layout.ts)
//   box/<sink>/<epoch>/<part>              rows waiting to be delivered
//   hist/<epoch>                           one line for each of the last epochs
//
// The store may silently lose or change any byte, so values are sealed with a checksum, `head` contains the checksum of
// every table, and tables contain those of their segments. A start verifies the whole chain.
import type { Storage, StorageBatch, StorageReads } from '@syncline/kernel';
import { crc32 } from '@syncline/kernel/node';
import type { Json } from '../ends/source.js';
import { corrupt, tooNew } from '../state/state-error.js';

export const STORE_FORMAT = 1;
const CRC_BYTES = 4;
const EPOCH_DIGITS = 10;
const GROUP_DIGITS = 4;
const PART_DIGITS = 6;

export interface Meta {
  readonly format: number;
  readonly name: string;
  /** Random; distinguishes this pipeline's output from that of any other. */
  readonly pipeline: string;
  readonly keyGroups: number;
  readonly hash: string;
  readonly backend: 'memory' | 'embedded';
  readonly createdMs: number;
}

export interface Generation {
  readonly generation: number;
  readonly token: string;
}

/** How far a partition has been read. */
export interface PartitionMark {
  readonly position: Json;
  /** Records read so far in this incarnation, including bad ones. Also the round of the next one. */
  readonly count: number;
  readonly incarnation: number;
  /** Highest event time seen; null if none. */
  readonly highestMs: number | null;
  /** Event time through which the partition is complete; null if unknown. */
  readonly watermarkMs: number | null;
  readonly isIdle: boolean;
  readonly isEnded: boolean;
}

export interface SinkMarkInHead {
  /** What `prepare` returned for the epoch of this head; null if the sink got no output in it. */
  readonly handle: Json;
  /** Handles of further workers. */
  readonly more?: readonly Json[];
  /** The last epoch with output that is known to be committed; 0 if none. */
  readonly committedEpoch: number;
  /** Outbox: the last epoch whose delivered output was removed, so that it cannot be delivered again. None if absent. */
  readonly droppedEpoch?: number;
}

/** The handles to commit for the epoch of the head. */
export function handlesOf({ handle, more = [] }: SinkMarkInHead): readonly Json[] {
  return handle === null ? more : [handle, ...more];
}

export interface Head {
  readonly format: number;
  readonly epoch: number;
  readonly generation: number;
  readonly atMs: number;
  /** By source, then by partition. */
  readonly partitions: Readonly<Record<string, Readonly<Record<string, PartitionMark>>>>;
  /** The partition to read next, as `source/partition`. */
  readonly turn: string | null;
  /** The highest wall-clock time that clock timers have seen. */
  readonly clockMs: number;
  readonly isFinished: boolean;
  readonly recordsIn: number;
  readonly recordsOut: number;
  readonly sinks: Readonly<Record<string, SinkMarkInHead>>;
  /** What operators save in addition to their states, by uid. */
  readonly operators: Readonly<Record<string, Json>>;
  /** Watermarks of operators, by uid. They never decrease, even if an idle partition resumes behind them. */
  readonly watermarks?: Readonly<Record<string, number>>;
  /** Checksums of the tables, by state. */
  readonly tables: Readonly<Record<string, number>>;
}

/** Summary of an epoch, for `inspect`. */
export interface HistoryLine {
  readonly epoch: number;
  readonly generation: number;
  readonly atMs: number;
  readonly records: number;
  readonly bytes: number;
  readonly tookMs: number;
}

const text = (value: string) => Buffer.from(value, 'latin1');

export const storeKeys = {
  meta: text('meta'),
  generation: text('gen'),
  head: text('head'),
  table: (state: string) => text(`op/${state}`),
  segment: (state: string, group: number, epoch: number) =>
    text(`seg/${state}/${group.toString(16).padStart(GROUP_DIGITS, '0')}/${padded(epoch)}`),
  boxPart: (sink: string, epoch: number, part: number) =>
    text(`box/${sink}/${padded(epoch)}/${String(part).padStart(PART_DIGITS, '0')}`),
  history: (epoch: number) => text(`hist/${padded(epoch)}`),
  /** All keys that start with the path and a slash. */
  under: (path: string) => ({ from: text(`${path}/`), to: text(`${path}0`) }),
};

export function padded(epoch: number): string {
  return String(epoch).padStart(EPOCH_DIGITS, '0');
}

export function keyText(key: Uint8Array): string {
  return Buffer.from(key).toString('latin1');
}

/** JSON followed by its checksum. */
export function seal(value: unknown): Uint8Array {
  return sealText(JSON.stringify(value));
}

/** For a value that is already JSON. */
export function sealText(value: string): Uint8Array {
  const json = Buffer.from(value);
  const sealed = Buffer.alloc(json.length + CRC_BYTES);
  sealed.set(json);
  sealed.writeUInt32BE(crc32(json), json.length);
  return sealed;
}

/** Throws `corrupt` if the checksum does not match. */
export function unseal(name: string, sealed: Uint8Array): unknown {
  const end = sealed.length - CRC_BYTES;
  if (end < 0) {
    throw corrupt(name, { offset: 0, expected: 'a sealed value', found: `${sealed.length} bytes` });
  }
  const json = sealed.subarray(0, end);
  const expected = crc32(json);
  const found = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length).readUInt32BE(end);
  if (expected !== found) {
    const damage = { offset: end, expected: `checksum ${expected}`, found: String(found) };
    throw corrupt(name, damage);
  }
  return JSON.parse(Buffer.from(json).toString('utf8'));
}

/** Adds the removal of everything to the batch: what an interrupted restore has left in a store without `meta`. */
export async function removeLeftovers(storage: Storage, batch: StorageBatch): Promise<void> {
  for await (const { key } of storage.range()) batch.delete(key);
}

/** The three values that a start reads first; all undefined in a new directory. */
export function readFrame(reads: StorageReads): {
  readonly meta: Meta | undefined;
  readonly generation: Generation | undefined;
  readonly head: Head | undefined;
} {
  const read = (name: 'meta' | 'generation' | 'head') => {
    const sealed = reads.get(storeKeys[name]);
    return sealed === undefined ? undefined : unseal(`"${name}" of the checkpoint store`, sealed);
  };
  const meta = read('meta') as Meta | undefined;
  const generation = read('generation') as Generation | undefined;
  const head = read('head') as Head | undefined;
  if (meta === undefined && (generation !== undefined || head !== undefined)) {
    throw missing('meta');
  }
  if (meta !== undefined && generation === undefined) throw missing('gen');
  for (const format of [meta?.format, head?.format]) {
    if (format !== undefined && format > STORE_FORMAT) {
      throw tooNew('the checkpoint store', format, STORE_FORMAT);
    }
  }
  return { meta, generation, head };
}

function missing(name: string): Error {
  return corrupt(`"${name}" of the checkpoint store`, {
    offset: 0,
    expected: 'a value, since other values exist',
    found: 'nothing',
  });
}
