// Reads all that a node of sets has stored, and adds it up again by plain means.
//
// A node keeps sums beside what they sum up: cardinalities, the number of sets, the digest, dots by element and
// elements by dot. Here each is made from the elements alone and compared. Tests open the storage of a node
// that has ended and ask for it.
import {
  type Dot,
  formatDot,
  readDot,
  type Storage,
  type StorageEntry,
  VersionVector,
} from '@syncline/kernel';
import { ribltHash } from '@syncline/riblt';
import { decodeIdentity, type IdentityRecord } from '../commit/identity-record.js';
import { createOrderKeys } from '../memory/order-hash.js';
import { decodeOperations } from '../operation/decode-operations.js';
import type { Operation } from '../operation/operation.js';
import { readFold } from '../state/fold-record.js';
import { identityKey, journalKey, KeyKind, kindRange } from '../state/storage-keys.js';
import { decodeCardinality, decodeDots, encodeElement } from '../state/storage-values.js';

export interface StoredSets {
  readonly identity: IdentityRecord;
  /** `node.epoch:counter` to its element, of every dot that is named: folded ones and those in the journal. */
  readonly bindings: ReadonlyMap<string, string>;
  /** What is folded and what the journal adds to it. */
  readonly version: VersionVector;
  /** Records of the journal, folded ones apart. */
  readonly journalRecords: number;
  /** Sums that are not what they should be, in words. */
  readonly flaws: readonly string[];
}

export async function readStoredSets(storage: Storage): Promise<StoredSets> {
  const identity = decodeIdentity(storage.get(identityKey) ?? new Uint8Array());
  const flaws: string[] = [];
  const bindings = new Map<string, string>();
  const dots = await readDots(storage, bindings);
  await compareElements(storage, bindings, flaws);
  compareFold(storage, identity.clusterId, dots, flaws);
  const version = await readVersion(storage);
  for (const dot of dots) {
    if (!version.covers(dot)) flaws.push(`the folded version does not cover ${formatDot(dot)}`);
  }
  const journalRecords = readJournal(storage, { bindings, version, flaws });
  return { identity, bindings, version, journalRecords, flaws };
}

/** The keys `d`. */
async function readDots(storage: Storage, bindings: Map<string, string>): Promise<readonly Dot[]> {
  const dots: Dot[] = [];
  for await (const { key, value } of entriesOf(storage, KeyKind.dot)) {
    const dot = readDot(viewOf(key), 1);
    dots.push(dot);
    bindings.set(formatDot(dot), Buffer.from(value).toString('latin1'));
  }
  return dots;
}

/** The keys `e` against `d`, and `s` against `e`. */
async function compareElements(
  storage: Storage,
  bindings: ReadonlyMap<string, string>,
  flaws: string[],
): Promise<void> {
  const cardinalities = new Map<string, number>();
  let dotsCount = 0;
  for await (const { key, value } of entriesOf(storage, KeyKind.element)) {
    const text = Buffer.from(key).toString('latin1');
    const nameEnd = 3 + viewOf(key).getUint16(1);
    const name = text.slice(3, nameEnd);
    const element = text.slice(1, nameEnd) + text.slice(nameEnd + 6);
    cardinalities.set(name, (cardinalities.get(name) ?? 0) + 1);
    for (const dot of decodeDots(value).map(formatDot)) {
      dotsCount += 1;
      if (bindings.get(dot) !== element) flaws.push(`${dot} stands at an element, not in d`);
    }
  }
  if (dotsCount !== bindings.size) flaws.push(`${bindings.size} dots in d, ${dotsCount} in e`);
  for await (const { key, value } of entriesOf(storage, KeyKind.set)) {
    const name = Buffer.from(key.subarray(7)).toString('latin1');
    const counted = cardinalities.get(name);
    if (counted !== decodeCardinality(value)) flaws.push(`the cardinality of ${name} is wrong`);
    cardinalities.delete(name);
  }
  for (const name of cardinalities.keys()) flaws.push(`${name} has no cardinality`);
}

/** The key `f` against `d`. */
function compareFold(
  storage: Storage,
  clusterId: string,
  dots: readonly Dot[],
  flaws: string[],
): void {
  const { riblt } = createOrderKeys(clusterId);
  const hash = new Uint32Array(2);
  const sum = new Uint32Array(2);
  for (const { actor, counter } of dots) {
    ribltHash(riblt, Int32Array.of(actor, Math.floor(counter / 2 ** 32), counter), hash);
    sum[0] = (sum[0] ?? 0) ^ (hash[0] ?? 0);
    sum[1] = (sum[1] ?? 0) ^ (hash[1] ?? 0);
  }
  const { liveDots, xor } = readFold(storage);
  if (liveDots !== dots.length) flaws.push(`${liveDots} live dots are said to be folded`);
  if (xor[0] !== sum[0] || xor[1] !== sum[1]) flaws.push('the digest of the fold is wrong');
}

/** The keys `v`. */
async function readVersion(storage: Storage): Promise<VersionVector> {
  const version = new VersionVector();
  for await (const { key, value } of entriesOf(storage, KeyKind.version)) {
    const bytes = Buffer.concat([key.subarray(1), value]);
    const { actor, counter } = readDot(viewOf(bytes), 0);
    version.advance(actor, counter);
  }
  return version;
}

interface Gathered {
  readonly bindings: Map<string, string>;
  readonly version: VersionVector;
  readonly flaws: string[];
}

/** The keys `j` behind the fold, up to the first hole. */
function readJournal(storage: Storage, into: Gathered): number {
  const first = readFold(storage).number + 1;
  let records = 0;
  for (;;) {
    const record = storage.get(journalKey(first + records));
    if (record === undefined) return records;
    records += 1;
    for (const operation of decodeOperations(record)) noteOperation(operation, into);
  }
}

function noteOperation(operation: Operation, { bindings, version, flaws }: Gathered): void {
  const { actor, base, count, members, sets } = operation;
  if (version.counterOf(actor) !== base - 1) flaws.push(`a gap before ${actor}:${base}`);
  version.advance(actor, base + count - 1);
  for (let index = 0; index < members.length; index += 1) {
    const counter = operation.counterOf(index);
    if (counter === 0) continue;
    const set = sets.bytes(operation.setOf(index));
    const member = { buffer: members.bytes(index), start: 0, end: members.sizeOf(index) };
    const element = Buffer.from(encodeElement(set, member)).toString('latin1');
    const name = formatDot({ actor, counter });
    const known = bindings.get(name);
    if (known !== undefined && known !== element) flaws.push(`${name} names two elements`);
    bindings.set(name, element);
  }
}

async function* entriesOf(storage: Storage, kind: number): AsyncIterable<StorageEntry> {
  for await (const batch of storage.range(kindRange(kind)).batches()) yield* batch;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
