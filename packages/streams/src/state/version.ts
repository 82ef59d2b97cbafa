// Versions order the updates of a key. A state has one kind of version, chosen when it is opened.
//
// X5  Versions of a kind are totally ordered, and their encoding is lossless. Integers are ordered by value, logical
//     times by epoch, round, origin (as bytes) and index. Origin and index matter because several records may share an
//     epoch and a round: without them the second one would be ignored.
import type { ByteReader } from '../snapshot/byte-reader.js';
import type { ByteWriter } from '../snapshot/byte-writer.js';
import { checkBigint, checkText, compareText, kindOf, readBigint, writeBigint } from './key.js';
import { badRecord } from './state-error.js';

/** The place of a record in the logical order of its source. All numbers are safe integers. */
export interface LogicalTime {
  readonly epoch: number;
  readonly round: number;
  /** What assigned the numbers, such as a partition. Default: the empty string. */
  readonly origin?: string;
  /** Distinguishes records of the same round. Default: 0. */
  readonly index?: number;
}

/** A number is a safe integer, a bigint has up to 32 bytes. */
export type Version = number | bigint | LogicalTime;

export type VersionKind = 'number' | 'bigint' | 'logical-time';

export type VersionOf<Kind extends VersionKind> = Kind extends 'number'
  ? number
  : Kind extends 'bigint'
    ? bigint
    : LogicalTime;

/** What a state needs to know about its versions. Aggregates have none. */
export interface VersionType<Ver> {
  readonly kind: VersionKind | 'none';
  /** The version in its canonical form. Throws `bad-record` for any other kind of value. */
  check(version: unknown): Ver;
  compare(left: Ver, right: Ver): number;
  write(writer: ByteWriter, version: Ver): void;
  read(reader: ByteReader): Ver;
  /** For messages. */
  show(version: Ver): string;
}

const numberVersions: VersionType<number> = {
  kind: 'number',
  check: (version) => checkInteger(version, 'version'),
  compare: (left, right) => left - right,
  write: (writer, version) => writer.i64(version),
  read: (reader) => reader.i64(),
  show: String,
};

const bigintVersions: VersionType<bigint> = {
  kind: 'bigint',
  check(version) {
    if (typeof version !== 'bigint') throw wrongKind('a bigint', version);
    checkBigint(version, 'version');
    return version;
  },
  compare: (left, right) => (left < right ? -1 : left > right ? 1 : 0),
  write: writeBigint,
  read: readBigint,
  show: (version) => `${version}n`,
};

const logicalVersions: VersionType<Required<LogicalTime>> = {
  kind: 'logical-time',
  check(version) {
    if (typeof version !== 'object' || version === null) throw wrongKind('a LogicalTime', version);
    const { epoch, round, origin = '', index = 0 } = version as Partial<LogicalTime>;
    if (typeof origin !== 'string')
      throw badRecord(`origin must be a string, not ${kindOf(origin)}`);
    checkText(origin, 'originBytesMax', 'origin');
    return {
      epoch: checkInteger(epoch, 'epoch'),
      round: checkInteger(round, 'round'),
      origin,
      index: checkInteger(index, 'index'),
    };
  },
  compare(left, right) {
    if (left.epoch !== right.epoch) return left.epoch - right.epoch;
    if (left.round !== right.round) return left.round - right.round;
    return compareText(left.origin, right.origin) || left.index - right.index;
  },
  write(writer, { epoch, round, origin, index }) {
    writer.zigzag(epoch);
    writer.zigzag(round);
    const start = writer.beginSized();
    writer.utf8(origin);
    writer.endSized(start);
    writer.zigzag(index);
  },
  read(reader) {
    const epoch = reader.zigzag();
    const round = reader.zigzag();
    const origin = reader.utf8(reader.varint());
    return { epoch, round, origin, index: reader.zigzag() };
  },
  show({ epoch, round, origin, index }) {
    return `${epoch}:${round}${origin === '' && index === 0 ? '' : `:${origin}:${index}`}`;
  },
};

/** For aggregates, whose updates are not distinguished. */
export const noVersions: VersionType<undefined> = {
  kind: 'none',
  check: () => undefined,
  compare: () => 0,
  write: () => undefined,
  read: () => undefined,
  show: () => 'none',
};

const versionTypes = {
  number: numberVersions,
  bigint: bigintVersions,
  'logical-time': logicalVersions,
} as const;

export function versionsOf<Kind extends VersionKind>(kind: Kind): VersionType<VersionOf<Kind>> {
  return versionTypes[kind] as VersionType<unknown> as VersionType<VersionOf<Kind>>;
}

function checkInteger(value: unknown, what: string): number {
  if (typeof value !== 'number') throw badRecord(`${what} must be a number, not ${kindOf(value)}`);
  if (!Number.isSafeInteger(value)) throw badRecord(`${what} ${value} is not a safe integer`);
  return value + 0; // -0 becomes 0
}

function wrongKind(expected: string, found: unknown): Error {
  return badRecord(`a version of this state must be ${expected}, not ${kindOf(found)}`);
}
