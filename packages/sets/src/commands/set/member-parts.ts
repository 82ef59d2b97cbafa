// SADD and SREM with more members than one operation holds: several operations behind the closed gate.
import type { ByteList } from '../../byte-list.js';
import { setsLimits } from '../../limits.js';
import { CHANGE_BYTES_MAX, ELEMENT_EXTRA_BYTES, PART_ELEMENTS } from '../change-buffer.js';
import type { CommandContext, Walk } from '../command.js';
import { withGate } from '../long-work.js';
import { walksLong, walksNothing } from '../walks.js';

/** A command whose words take fewer bytes than this in all is never asked for more. */
const SMALL_BYTES_MAX = CHANGE_BYTES_MAX / 2;
const SMALL_MEMBERS_MAX = SMALL_BYTES_MAX / ELEMENT_EXTRA_BYTES;

/** Says `long` where the words from `from` on do not fit into one operation. */
export function walksMembers(args: ByteList, from: number): Walk {
  if (args.buffer.length < SMALL_BYTES_MAX && args.length < SMALL_MEMBERS_MAX) return walksNothing;
  const membersMax = setsLimits.operationElementsMax.value;
  return partEnd(args, from, membersMax) === args.length ? walksNothing : walksLong;
}

/** Gives how many members were absent, or present. */
export function changeInParts(
  { args, keyspace }: CommandContext,
  kind: 'add' | 'remove',
  signal: AbortSignal,
): Promise<number> {
  return withGate(keyspace, signal, async (hold) => {
    let changed = 0;
    for (let from = 2; from < args.length; ) {
      const to = partEnd(args, from, PART_ELEMENTS);
      changed += keyspace[kind](args, 1, from, to);
      from = to;
      const pause = hold.room() ?? keyspace.breathe();
      if (pause !== undefined) await pause;
    }
    return changed;
  });
}

/** The index behind the last member that still fits. At least one member always does. */
function partEnd(args: ByteList, from: number, membersMax: number): number {
  const end = Math.min(args.length, from + membersMax);
  let bytes = 0;
  for (let index = from; index < end; index += 1) {
    bytes += args.sizeOf(index) + ELEMENT_EXTRA_BYTES;
    if (bytes > CHANGE_BYTES_MAX) return Math.max(index, from + 1);
  }
  return end;
}
