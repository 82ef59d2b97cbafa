// What memory knows of members or of names from a position on: a piece that is small enough for one turn.
//
// Members are copied, since their rows may be freed in the next turn. Names are not: they never change.
import { setsLimits } from '../limits.js';
import type { MemberTable } from '../memory/member-table.js';
import {
  memberBuffer,
  memberEnd,
  memberStart,
  ROW_ACTOR,
  readWord,
  rowPosition,
} from '../memory/row-layout.js';
import { NO_DOT } from '../state/row-dots.js';
import type { SetRegistry } from '../state/set-registry.js';
import type { KnownEntry } from './laid-over.js';
import { POSITIONS_END } from './stored-ranges.js';

/** Members between two looks at their bytes. */
const STEP = 64;

export interface KnownPiece {
  readonly entries: readonly KnownEntry[];
  /** Everything that is known below this position is in it. */
  readonly end: number;
}

/** At most about `count` members, and `turnBytesMax` bytes of them. */
export function knownMembers(table: MemberTable, from: number, count: number): KnownPiece {
  const { heap } = table;
  const entries: KnownEntry[] = [];
  let bytes = 0;
  let position = from;
  do {
    position = table.scan(position, Math.min(STEP, count - entries.length), (row) => {
      const member = memberBuffer(heap, row).slice(memberStart(row), memberEnd(heap, row));
      const isPresent = readWord(heap, row, ROW_ACTOR) !== NO_DOT;
      entries.push({ bytes: member, position: rowPosition(heap, row), isPresent });
      bytes += member.length;
    });
  } while (position !== 0 && entries.length < count && bytes < setsLimits.turnBytesMax.value);
  return { entries, end: position === 0 ? POSITIONS_END : position };
}

/** At most about `count` names of sets. */
export function knownNames(registry: SetRegistry, from: number, count: number): KnownPiece {
  const entries: KnownEntry[] = [];
  const position = registry.scan(
    from,
    count,
    ({ name, positionHigh, positionLow, cardinality }) => {
      const at = positionHigh * 0x1_0000 + positionLow;
      entries.push({ bytes: name, position: at, isPresent: cardinality > 0 });
    },
  );
  return { entries, end: position === 0 ? POSITIONS_END : position };
}
