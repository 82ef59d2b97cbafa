// The operations of a journal record, read by Protobuf-ES and not by the code under test.
//
// An element is written `set/member` and a dot as its text, so that they can be keys of maps.
import { type ActorId, assert, DOT_BYTES, formatDot, readDot } from '@syncline/kernel';
import { parseMeshOperations, parseSetsChange } from '@syncline/protocol/operations';

export interface JournalOperation {
  readonly actor: ActorId;
  /** The first of its `count` counters. */
  readonly base: number;
  readonly count: number;
  /** Elements in the order of their dots. */
  readonly adds: readonly string[];
  readonly removes: readonly string[];
  readonly dropped: readonly string[];
}

export function readRecord(bytes: Uint8Array): readonly JournalOperation[] {
  return parseMeshOperations(bytes).operations.map(({ dot, count, body }) => {
    const { sets, dropped } = parseSetsChange(body);
    assert(dot.length === DOT_BYTES, 'an operation has one dot, its first');
    const { actor, counter } = readDot(viewOf(dot), 0);
    return {
      actor,
      base: counter,
      count,
      adds: sets.flatMap(({ set, add }) => add.map((member) => elementOf(set, member))),
      removes: sets.flatMap(({ set, remove }) => remove.map((member) => elementOf(set, member))),
      dropped: readDots(dropped),
    };
  });
}

export function elementOf(set: Uint8Array, member: Uint8Array): string {
  return `${Buffer.from(set).toString('latin1')}/${Buffer.from(member).toString('latin1')}`;
}

/** 12 bytes each. */
export function readDots(bytes: Uint8Array): readonly string[] {
  assert(bytes.length % DOT_BYTES === 0, 'dots have 12 bytes each');
  return Array.from({ length: bytes.length / DOT_BYTES }, (_, index) =>
    formatDot(readDot(viewOf(bytes), index * DOT_BYTES)),
  );
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
