// The state of the sets, controlled by a test: changes by name, turns that are settled or undone.
import { actorId, type Dot, formatDot } from '@syncline/kernel';
import { ByteList } from '../../byte-list.js';
import { type EngineLimits, engineLimits } from '../../limits.js';
import {
  memberBuffer,
  memberEnd,
  memberStart,
  ROW_ACTOR,
  ROW_COUNTER_HIGH,
  ROW_COUNTER_LOW,
  readWord,
} from '../../memory/element-row.js';
import { createOrderKeys } from '../../memory/order-hash.js';
import { LocalOperation } from '../local-changes.js';
import { SetsState } from '../sets-state.js';

export const listOf = (...texts: readonly string[]) =>
  ByteList.from(texts.map((text) => Buffer.from(text, 'latin1')));

export const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

export class DrivenState {
  readonly state: SetsState;
  readonly operation: LocalOperation;

  constructor(limits: Partial<EngineLimits> = {}, actor = actorId(1, 1)) {
    this.state = new SetsState(createOrderKeys('test'), { ...engineLimits, ...limits });
    this.operation = new LocalOperation(this.state);
    this.state.version.useActor(actor);
  }

  /** One operation. */
  add(set: string, members: readonly string[]): void {
    this.operation.begin();
    const entry = this.state.sets.findOrCreate(listOf(set), 0);
    const list = listOf(...members);
    for (const index of members.keys()) this.operation.add(entry, list, index);
    this.operation.end();
  }

  remove(set: string, members: readonly string[]): void {
    const entry = this.state.sets.find(listOf(set), 0);
    if (entry === undefined) return;
    this.operation.begin();
    const list = listOf(...members);
    for (const index of members.keys()) this.operation.remove(entry, list, index);
    this.operation.end();
  }

  /** All members, as one operation. */
  clear(set: string): void {
    this.remove(set, this.members(set));
  }

  settle(): void {
    this.state.record.clear();
    this.state.settleTurn();
  }

  undo(): void {
    this.state.undoTurn();
  }

  members(set: string): readonly string[] {
    const found: string[] = [];
    this.state.sets.find(listOf(set), 0)?.table.forEach((row) => {
      if (this.state.isPresent(row)) found.push(textOf(this.memberOf(row)));
    });
    return found.sort();
  }

  setNames(): readonly string[] {
    const names: string[] = [];
    this.state.sets.scan(0, Number.POSITIVE_INFINITY, ({ name, cardinality }) => {
      if (cardinality > 0) names.push(textOf(name));
    });
    return names;
  }

  lines(): readonly string[] {
    return linesOf(this.state);
  }

  memberOf(row: number): Uint8Array {
    return memberOf(this.state, row);
  }
}

/** Every live dot with its element, sorted. */
export function linesOf(state: SetsState): readonly string[] {
  const lines: string[] = [];
  state.sets.scan(0, Number.POSITIVE_INFINITY, ({ name, table }) => {
    table.forEach((row) => {
      for (const dot of dotsOf(state, row)) lines.push(lineOf(name, memberOf(state, row), dot));
    });
  });
  return lines.sort();
}

function memberOf({ heap }: SetsState, row: number): Uint8Array {
  return memberBuffer(heap, row).subarray(memberStart(row), memberEnd(heap, row));
}

function dotsOf({ heap, several }: SetsState, row: number): readonly Dot[] {
  return several.read({
    actor: readWord(heap, row, ROW_ACTOR),
    high: readWord(heap, row, ROW_COUNTER_HIGH),
    low: readWord(heap, row, ROW_COUNTER_LOW),
  });
}

export function lineOf(set: Uint8Array, member: Uint8Array, dot: Dot): string {
  return `${textOf(set)}/${textOf(member)} ${formatDot(dot)}`;
}
