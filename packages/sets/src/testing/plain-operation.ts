// Operations as plain values, to compare the codec of this package with Protobuf-ES, and the rules for them once
// more, written for clarity instead of speed.
import {
  type ActorId,
  DOT_BYTES,
  type Dot,
  formatDot,
  readDot,
  VersionVector,
} from '@syncline/kernel';
import {
  encodeMeshOperations,
  encodeSetsChange,
  parseMeshOperations,
  parseSetsChange,
} from '@syncline/protocol/operations';
import { setsLimits } from '../limits.js';
import type { Operation } from '../operation/decode-operations.js';
import type { OperationWriter } from '../operation/operation-writer.js';

export interface PlainOperation {
  readonly actor: ActorId;
  readonly base: number;
  readonly count: number;
  readonly dependencies: string;
  /** Set, member, counter, as texts. */
  readonly added: readonly (readonly [string, string, number])[];
  readonly removed: readonly (readonly [string, string])[];
  readonly dropped: readonly string[];
}

/** One element of an operation that is to be written. */
export interface PlannedChange {
  readonly set: Uint8Array;
  readonly member: Uint8Array;
  readonly kind: 'add' | 'remove';
  readonly dropped: readonly Dot[];
}

export interface PlannedOperation {
  readonly dot: Dot;
  readonly dependencies: VersionVector;
  readonly changes: readonly PlannedChange[];
}

export function writePlanned(writer: OperationWriter, planned: PlannedOperation): number {
  writer.begin(planned.dot.actor, planned.dot.counter);
  for (const { set, member, kind, dropped } of planned.changes) {
    writer.set(set, 0, set.length);
    writer[kind](member, 0, member.length);
    for (const { actor, counter } of dropped) {
      writer.dropped(actor | 0, Math.floor(counter / 2 ** 32) | 0, counter | 0);
    }
  }
  return writer.end(planned.dependencies.toBytes());
}

/** The same as encoded by Protobuf-ES: one set per run of changes to it. */
export function encodePlanned(planned: readonly PlannedOperation[]): Uint8Array {
  const operations = planned.map(({ dot, dependencies, changes }) => ({
    dot: dotBytes([dot]),
    count: Math.max(1, changes.filter(({ kind }) => kind === 'add').length),
    dependencies: dependencies.toBytes(),
    body: changeOf(changes),
  }));
  return encodeMeshOperations({ operations });
}

function changeOf(changes: readonly PlannedChange[]): Uint8Array {
  const sets: { set: Uint8Array; add: Uint8Array[]; remove: Uint8Array[] }[] = [];
  for (const { set, member, kind } of changes) {
    const last = sets.at(-1);
    const run =
      last !== undefined && text(last.set) === text(set) ? last : { set, add: [], remove: [] };
    if (run !== last) sets.push(run);
    run[kind].push(member);
  }
  const dots = changes.flatMap(({ dropped }) => dropped);
  return encodeSetsChange({ sets, dropped: dotBytes(dots) });
}

function dotBytes(dots: readonly Dot[]): Uint8Array {
  const sorted = dots.toSorted((a, b) => a.actor - b.actor || a.counter - b.counter);
  return Buffer.concat(sorted.map((dot) => VersionVector.of(dot).toBytes()));
}

export function plainOf(operation: Operation): PlainOperation {
  const { actor, base, count, sets, members, dropped } = operation;
  const indexes = Array.from({ length: members.length }, (_, index) => index);
  const named = (index: number) =>
    [sets.text(operation.setOf(index)), members.text(index)] as const;
  return {
    actor,
    base,
    count,
    dependencies: operation.dependencies.toString(),
    added: indexes
      .filter((index) => operation.counterOf(index) > 0)
      .map((index) => [...named(index), operation.counterOf(index)]),
    removed: indexes.filter((index) => operation.counterOf(index) === 0).map(named),
    dropped: Array.from({ length: dropped.length }, (_, index) =>
      formatDot({ actor: dropped.actor(index) as ActorId, counter: dropped.counter(index) }),
    ),
  };
}

/** Throws when Protobuf-ES refuses the bytes, or a rule is broken. */
export function plainByProtobuf(bytes: Uint8Array): readonly PlainOperation[] {
  return parseMeshOperations(bytes).operations.map((operation) => {
    const { sets, dropped } = parseSetsChange(operation.body);
    must(operation.dot.length === DOT_BYTES, 'one dot');
    const [first] = dotsOf(operation.dot);
    const [actor, base] = [first?.actor ?? (0 as ActorId), first?.counter ?? 0];
    const added = sets.flatMap(({ set, add }) =>
      add.map((member) => [text(set), text(member)] as const),
    );
    const removed = sets.flatMap(({ set, remove }) =>
      remove.map((member) => [text(set), text(member)] as const),
    );
    const dependencies = VersionVector.fromBytes(operation.dependencies);
    const droppedDots = dotsOf(dropped);
    const elements = [...added, ...removed];
    const names = elements.map(([set, member]) => JSON.stringify([set, member]));
    must(new Set(names).size === names.length, 'no element twice');
    must(elements.length > 0, 'a change');
    must(elements.length <= setsLimits.operationElementsMax.value, 'elements');
    must(
      elements.every(([, member]) => member.length <= setsLimits.memberBytesMax.value),
      'member',
    );
    must(
      sets.every(({ set }) => set.length <= setsLimits.keyBytesMax.value),
      'key',
    );
    must(
      sets.every(({ add, remove }) => add.length + remove.length > 0),
      'a change per set',
    );
    must(operation.count === Math.max(1, added.length), 'counters');
    must(BigInt(base) + BigInt(operation.count) <= 2n ** 53n, 'counters below 2^53');
    must(dependencies.counterOf(actor) === 0, 'others');
    must(droppedDots.length >= removed.length, 'a dot per removed');
    must(
      droppedDots.every((dot) => dot.actor !== actor || dot.counter < base),
      'earlier dots',
    );
    return {
      actor,
      base,
      count: operation.count,
      dependencies: dependencies.toString(),
      added: added.map(([set, member], index) => [set, member, base + index] as const),
      removed,
      dropped: droppedDots.map(formatDot),
    };
  });
}

/** Whether Protobuf-ES would write exactly these bytes, at both levels. */
export function isCanonical(bytes: Uint8Array): boolean {
  const message = parseMeshOperations(bytes);
  return (
    isSame(encodeMeshOperations(message), bytes) &&
    message.operations.every(({ body }) => isSame(encodeSetsChange(parseSetsChange(body)), body))
  );
}

function dotsOf(bytes: Uint8Array): readonly Dot[] {
  must(bytes.length % DOT_BYTES === 0, 'whole dots');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const dots = Array.from({ length: bytes.length / DOT_BYTES }, (_, i) =>
    readDot(view, i * DOT_BYTES),
  );
  const isRising = dots.every((dot, i) => {
    const before = dots[i - 1];
    if (before === undefined) return true;
    return before.actor < dot.actor || (before.actor === dot.actor && before.counter < dot.counter);
  });
  must(isRising, 'sorted');
  return dots;
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

function must(holds: boolean, rule: string): void {
  if (!holds) throw new Error(`broken: ${rule}`);
}
