// What lies in the storage, read key by key as the layout says, and whether its parts agree.
//
// S1  The digest of the fold is the one over the dots that are there.
// S4  Every live dot is covered by the folded version.
// S7  Elements, dots, cardinalities and the fold record tell of the same sets.

import { type ActorId, assert, formatDot, readDot, type StorageReads } from '@syncline/kernel';
import type { RibltKey } from '@syncline/riblt';
import { digestText, hexWord } from './digest-text.js';
import { elementOf, readDots } from './journal-operation.js';

export interface StoredSets {
  /** The last record of the journal that is folded. */
  readonly foldNumber: number;
  /** From each folded element to its dot. */
  readonly content: ReadonlyMap<string, string>;
  readonly version: ReadonlyMap<ActorId, number>;
  readonly journal: ReadonlyMap<number, Uint8Array>;
}

interface Raw {
  readonly elements: Map<string, string>;
  readonly dots: Map<string, string>;
  readonly cardinalities: Map<string, number>;
  readonly version: Map<ActorId, number>;
  readonly journal: Map<number, Uint8Array>;
  fold: Buffer | undefined;
}

const POSITION_BYTES = 6;

export async function readStored(storage: StorageReads, digestKey: RibltKey): Promise<StoredSets> {
  const raw: Raw = {
    elements: new Map(),
    dots: new Map(),
    cardinalities: new Map(),
    version: new Map(),
    journal: new Map(),
    fold: undefined,
  };
  for await (const { key, value } of storage.range()) {
    readEntry(raw, Buffer.from(key), Buffer.from(value));
  }
  checkDots(raw);
  checkCardinalities(raw);
  checkFold(raw, digestKey);
  const { elements, version, journal, fold } = raw;
  return { foldNumber: numberAt(fold, 0), content: elements, version, journal };
}

function readEntry(raw: Raw, key: Buffer, value: Buffer): void {
  switch (key.toString('latin1', 0, 1)) {
    case 'e': {
      const nameEnd = 3 + key.readUInt16BE(1);
      const element = elementOf(key.subarray(3, nameEnd), key.subarray(nameEnd + POSITION_BYTES));
      raw.elements.set(element, readDots(value).join());
      return;
    }
    case 'd': {
      const dot = formatDot(readDot(new DataView(key.buffer, key.byteOffset, key.length), 1));
      const nameEnd = 2 + value.readUInt16BE(0);
      raw.dots.set(dot, elementOf(value.subarray(2, nameEnd), value.subarray(nameEnd)));
      return;
    }
    case 's':
      raw.cardinalities.set(key.toString('latin1', 1 + POSITION_BYTES), numberAt(value, 0));
      return;
    case 'v':
      raw.version.set(key.readUInt32BE(1) as ActorId, numberAt(value, 0));
      return;
    case 'j':
      raw.journal.set(numberAt(key, 1), value);
      return;
    case 'f':
      raw.fold = value;
      return;
    default: // who this node is, and when it was synced
  }
}

function checkDots({ elements, dots, version }: Raw): void {
  for (const [element, dot] of elements) {
    const bound = dots.get(dot);
    assert(bound === element, `S3: ${element} is stored with ${dot}, which is bound to ${bound}`);
  }
  assert(dots.size === elements.size, `S7: ${dots.size} dots of ${elements.size} elements`);
  const covered = new Map(Array.from(version, ([actor, counter]) => [actor >>> 0, counter]));
  for (const dot of dots.keys()) {
    const [node, epoch, counter] = dot.split(/[.:]/).map(Number);
    const actor = (node ?? 0) * 0x1_0000 + (epoch ?? 0);
    assert((covered.get(actor) ?? 0) >= (counter ?? 0), `S4: the version does not cover ${dot}`);
  }
}

function checkCardinalities({ elements, cardinalities }: Raw): void {
  const counts = new Map<string, number>();
  for (const element of elements.keys()) {
    const [set = ''] = element.split('/');
    counts.set(set, (counts.get(set) ?? 0) + 1);
  }
  const [found, expected] = [cardinalities, counts].map((sizes) =>
    Array.from(sizes, ([set, size]) => `${set} ${size}`)
      .sort()
      .join(),
  );
  assert(found === expected, `S7: the cardinalities are ${expected}, stored are ${found}`);
}

function checkFold({ dots, cardinalities, fold }: Raw, digestKey: RibltKey): void {
  const words = [16, 20].map((at) => (fold === undefined ? 0 : fold.readUInt32BE(at)));
  const found = `${numberAt(fold, 8)} ${words.map(hexWord).join('')}`;
  const expected = digestText(dots.keys(), digestKey);
  assert(found === expected, `S1: the fold has the digest ${found}, its dots have ${expected}`);
  const sets = numberAt(fold, 24);
  assert(
    sets === cardinalities.size,
    `S7: the fold tells of ${sets}, not ${cardinalities.size} sets`,
  );
}

/** 0 where there is nothing. */
function numberAt(bytes: Buffer | undefined, offset: number): number {
  return bytes === undefined ? 0 : Number(bytes.readBigUInt64BE(offset));
}
