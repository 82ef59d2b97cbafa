// Where the parts of a progress row go in a window of some width.
//
//   wide    name  bar  percent  five counts  note        one line
//   medium  name  bar  percent  five counts              and the note below it
//   narrow  name  percent / bar / five counts / note     one line each
import type { Counts } from '@syncline/jobs';
import { displayWidth } from '../display-width.js';
import { CLASS_STYLES } from './status-style.js';

export interface ProgressLayout {
  readonly kind: 'wide' | 'medium' | 'narrow';
  readonly nameWidth: number;
  readonly barWidth: number;
  /** Of the columns of counts, in the order of `CLASS_STYLES`. */
  readonly countWidths: readonly number[];
  /** Where a note begins that stands below its row. */
  readonly noteIndent: number;
  readonly noteWidth: number;
}

export const INDENT = 1;
export const GAP = 2;
/** `100.0%` */
export const PERCENT_WIDTH = 6;

const NAME_WIDTH_MAX = 32;
const NAME_WIDTH_LEAST = 8;
const NOTE_INDENT_MAX = 20;
const BAR_WIDTH_MAX = 40;
const BAR_WIDTH_LEAST = 10;

/** `noteWidthLeast`: with less room than this a note goes below its row. */
export function layoutProgress(
  rows: readonly { readonly name: string; readonly cells: Counts }[],
  columns: number,
  noteWidthLeast: number,
): ProgressLayout {
  const nameWidth = Math.min(
    NAME_WIDTH_MAX,
    Math.max(3, ...rows.map((row) => displayWidth(row.name))),
  );
  const countWidths = CLASS_STYLES.map(({ name, word }) =>
    Math.max(word.length, ...rows.map((row) => String(row.cells[name]).length)),
  );
  const countsWidth = countWidths.reduce((sum, width) => sum + GAP + width, 0);
  const fixed = INDENT + GAP + GAP + PERCENT_WIDTH + countsWidth;
  const left = Math.min(columns, 1_000) - fixed; // a file has no width of its own
  const isWide = left >= nameWidth + BAR_WIDTH_LEAST + GAP + noteWidthLeast;
  if (isWide) {
    const barWidth = clamp(Math.floor((left - nameWidth) / 3), BAR_WIDTH_LEAST, BAR_WIDTH_MAX);
    const noteWidth = columns - fixed - nameWidth - barWidth - GAP;
    return { kind: 'wide', nameWidth, barWidth, countWidths, noteIndent: 0, noteWidth };
  }
  if (left >= NAME_WIDTH_LEAST + BAR_WIDTH_LEAST) {
    const shownNameWidth = Math.min(nameWidth, left - BAR_WIDTH_LEAST);
    const barWidth = Math.min(BAR_WIDTH_MAX, left - shownNameWidth);
    // Below the bar, unless a long name would leave it little room.
    const noteIndent = INDENT + GAP + (shownNameWidth > NOTE_INDENT_MAX ? 0 : shownNameWidth);
    const noteWidth = columns - noteIndent;
    return {
      kind: 'medium',
      nameWidth: shownNameWidth,
      barWidth,
      countWidths,
      noteIndent,
      noteWidth,
    };
  }
  const lineWidth = Math.max(5, columns - INDENT);
  return {
    kind: 'narrow',
    nameWidth: Math.max(1, lineWidth - GAP - PERCENT_WIDTH),
    barWidth: lineWidth,
    countWidths,
    noteIndent: INDENT,
    noteWidth: lineWidth,
  };
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
