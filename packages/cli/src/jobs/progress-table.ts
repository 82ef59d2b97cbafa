// Renders progress as rows with a bar, a percentage, five counts and a note.
//
//   wide    name  bar  percent  five counts  note        one line
//   medium  name  bar  percent  five counts              and the note below it
//   narrow  name  percent / bar / five counts / note     one line each
//
// Names and messages come from clients, so control characters in them are escaped.
import type { Counts, Progress, State } from '@syncline/jobs';
import { cutToWidth, displayWidth, padEnd, padStart } from '../display-width.js';
import type { Color, Paint } from '../paint.js';
import { printable } from '../printable.js';
import { type Screen, wrapWords } from '../screen.js';

interface ClassStyle {
  readonly name: Exclude<keyof Counts, 'total'>;
  /** Column title. */
  readonly word: string;
  readonly color: Color;
  readonly glyph: string;
}

/** From left to right. Each class has its own glyph, so that bars can be read without colors. */
const CLASS_STYLES: readonly ClassStyle[] = [
  { name: 'finished', word: 'done', color: 'green', glyph: '█' },
  { name: 'running', word: 'run', color: 'cyan', glyph: '▓' },
  { name: 'notStarted', word: 'todo', color: 'dim', glyph: '░' },
  { name: 'warned', word: 'warn', color: 'yellow', glyph: '▒' },
  { name: 'failed', word: 'fail', color: 'red', glyph: '▚' },
];

const MESSAGE_WIDTH_LEAST = 36;

/** The rows of a job: all cells first, then each tag with its worst message. */
export function renderProgress(
  progress: Progress,
  options: { readonly paint: Paint; readonly screen: Screen },
): readonly string[] {
  return renderProgressRows(rowsOf(progress), {
    ...options,
    noun: 'tag',
    noteTitle: 'worst',
    noteWidthLeast: MESSAGE_WIDTH_LEAST,
  });
}

/** The total has no note of its own, unless the worst cell belongs to no tag. */
function rowsOf({ tags, cells, percent, worst }: Progress): readonly ProgressRow[] {
  const rows = tags.map((row) => ({
    name: printable(row.tag),
    cells: row.cells,
    percent: row.percent,
    note: describeWorst(row.worst),
    noteColor: noteColorOf(row.cells),
    isTotal: false,
  }));
  if (rows.length === 1 && rows[0]?.cells.total === cells.total) return rows;
  const note = worst.tag === '' ? describeWorst(worst) : '';
  return [
    { name: 'all', cells, percent, note, noteColor: noteColorOf(cells), isTotal: true },
    ...rows,
  ];
}

/** Describes the worst cell. If even that one is finished, there is nothing to add. */
function describeWorst({ tag, taskId, message, status, statusClass }: State): string {
  if (tag === '') return `task ${taskId} has not written anything`;
  if (statusClass === 'finished') return '';
  if (message !== '') return `task ${taskId}  ${printable(message)}`;
  return statusClass === 'not-started'
    ? `task ${taskId} has not started`
    : `task ${taskId}  ${isNamed(status) ? statusClass : `status ${status}`}`;
}

/** The usual statuses from -2, a warning, to 2, running. The others have a meaning that only the task knows. */
function isNamed(status: number): boolean {
  return status >= -2 && status <= 2;
}

function noteColorOf({ failed, warned }: Counts): Color {
  if (failed > 0) return 'red';
  return warned > 0 ? 'yellow' : 'dim';
}

export interface ProgressRow {
  /** Escaped for a terminal, like the note. */
  readonly name: string;
  readonly cells: Counts;
  readonly percent: number;
  readonly note: string;
  readonly noteColor: Color;
  /** Shown even when not all rows fit. */
  readonly isTotal: boolean;
}

interface ProgressTableOptions {
  /** Title of the name column: what a row stands for. */
  readonly noun: string;
  /** Title of the note column. */
  readonly noteTitle: string;
  /** A note with less room than this goes below its row. */
  readonly noteWidthLeast: number;
  readonly paint: Paint;
  readonly screen: Screen;
}

const INDENT = 1;
export const GAP = 2;
/** `100.0%` */
const PERCENT_WIDTH = 6;
const between = ' '.repeat(GAP);
const indent = ' '.repeat(INDENT);

/** As many rows as fit, the most severe first; the last line counts the others. */
export function renderProgressRows(
  rows: readonly ProgressRow[],
  options: ProgressTableOptions,
): readonly string[] {
  const { noun, paint, screen } = options;
  const layout = layoutProgress(rows, screen.columns, options.noteWidthLeast);
  const head = layout.kind === 'narrow' ? [] : [renderTitles(layout, options)];
  const render = (row: ProgressRow) => renderRow(row, layout, paint);
  const chosen = chooseRows(rows, screen.rows - head.length, render);
  const shown = rows.flatMap((row) => chosen.get(row) ?? []);
  if (shown.at(-1) === '') shown.pop();
  const hidden = rows.filter((row) => !chosen.has(row));
  const rest = hidden.length === 0 ? [] : [paint('dim', `${indent}${countHidden(hidden, noun)}`)];
  const lines = [...head, ...shown, ...rest];
  return lines.slice(0, Math.max(0, screen.rows)).map((line) => cutToWidth(line, screen.columns));
}

type RenderedRows = ReadonlyMap<ProgressRow, readonly string[]>;

/**
 * The total stays, then rows with failures, with warnings, and those running. Only rows that may be shown are
 * rendered: a job can have more tags than a window has lines.
 */
function chooseRows(
  rows: readonly ProgressRow[],
  room: number,
  render: (row: ProgressRow) => readonly string[],
): RenderedRows {
  if (rows.length <= room) {
    const all = new Map(rows.map((row) => [row, render(row)]));
    const height = [...all.values()].reduce((sum, lines) => sum + lines.length, 0);
    if (height <= room) return all;
  }
  const chosen = new Map<ProgressRow, readonly string[]>();
  let left = room - 1; // for the line that counts the others
  for (const row of rows.toSorted((one, other) => urgency(other) - urgency(one))) {
    if (left < 1) break;
    const lines = render(row);
    if (lines.length > left) continue;
    chosen.set(row, lines);
    left -= lines.length;
  }
  return chosen;
}

function urgency({ isTotal, cells }: ProgressRow): number {
  if (isTotal) return 5;
  if (cells.failed > 0) return 4;
  if (cells.warned > 0) return 3;
  if (cells.running > 0) return 2;
  return cells.notStarted > 0 ? 1 : 0;
}

function countHidden(rows: readonly ProgressRow[], noun: string): string {
  const finished = rows.filter(({ cells }) => cells.finished === cells.total).length;
  const nouns = rows.length === 1 ? noun : `${noun}s`;
  return `… ${rows.length} more ${nouns}, ${finished} of them finished`;
}

function renderTitles(layout: ProgressLayout, options: ProgressTableOptions): string {
  const { noun, noteTitle, paint } = options;
  const progress = padEnd('progress', layout.barWidth + GAP + PERCENT_WIDTH);
  const counts = CLASS_STYLES.map(({ word }, at) => padStart(word, layout.countWidths[at] ?? 0));
  const titles = [padEnd(noun, layout.nameWidth), progress, ...counts];
  if (layout.kind === 'wide') titles.push(noteTitle);
  return paint('dim', `${indent}${titles.join(between)}`.trimEnd());
}

function renderRow(row: ProgressRow, layout: ProgressLayout, paint: Paint): readonly string[] {
  const name = cutToWidth(row.name, layout.nameWidth);
  const space = ' '.repeat(layout.nameWidth - displayWidth(name));
  const shownName = (row.isTotal ? paint('dim', name) : paint('bold', name)) + space;
  const percent = padStart(`${row.percent.toFixed(1)}%`, PERCENT_WIDTH);
  const bar = renderBar(row, layout.barWidth, paint);
  const note = cutToWidth(row.note, layout.noteWidth);
  const notes = note === '' ? [] : [paint(row.noteColor, note)];
  if (layout.kind === 'narrow') {
    const counts = countWords(row.cells, layout.barWidth, paint);
    const lines = [`${shownName}${between}${percent}`, bar, ...counts, ...notes];
    return [...lines.map((line) => `${indent}${line}`), ''];
  }
  const line =
    indent + [shownName, bar, percent, ...countCells(row.cells, layout, paint)].join(between);
  if (layout.kind === 'wide') return [[line, ...notes].join(between)];
  return [line, ...notes.map((text) => ' '.repeat(layout.noteIndent) + text)];
}

function countCells(cells: Counts, { countWidths }: ProgressLayout, paint: Paint) {
  return CLASS_STYLES.map(({ name, color }, at) => {
    const text = padStart(String(cells[name]), countWidths[at] ?? 0);
    return paint(cells[name] === 0 ? 'dim' : color, text);
  });
}

/** A non-breaking space keeps a count with its word. */
function countWords(cells: Counts, columns: number, paint: Paint): readonly string[] {
  const words = CLASS_STYLES.map(({ name, word }) => `${cells[name]}\u00a0${word}`);
  const lines = wrapWords(words.join(' '), columns);
  return lines.map((line) => paint('dim', line.replaceAll('\u00a0', ' ')));
}

interface ProgressLayout {
  readonly kind: 'wide' | 'medium' | 'narrow';
  readonly nameWidth: number;
  readonly barWidth: number;
  /** Widths of the count columns, in the order of `CLASS_STYLES`. */
  readonly countWidths: readonly number[];
  /** Indentation of a note below its row. */
  readonly noteIndent: number;
  readonly noteWidth: number;
}

const NAME_WIDTH_MAX = 32;
const NAME_WIDTH_LEAST = 8;
const NOTE_INDENT_MAX = 20;
const BAR_WIDTH_MAX = 40;
const BAR_WIDTH_LEAST = 10;

/** With less room than `noteWidthLeast`, a note goes below its row. */
function layoutProgress(
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

// One bar for five counts: a segment per class, side by side. Partial progress of unfinished cells counts towards the
// first segment. Every class that has a cell gets at least one character, so that a single failure among a thousand
// is visible, and a bar is filled by one class only when all cells are in it.

/** Not-started cells are at the right end, where bars are empty. */
const IN_BAR = ['finished', 'running', 'warned', 'failed', 'notStarted'].flatMap((name) =>
  CLASS_STYLES.filter((style) => style.name === name),
);

export function renderBar(
  { cells, percent }: { readonly cells: Counts; readonly percent: number },
  width: number,
  paint: Paint,
): string {
  const counts = IN_BAR.map(({ name }) => cells[name]);
  const lengths = segmentLengths(counts, width, doneShares(counts, percent));
  return IN_BAR.map(({ color, glyph }, at) => {
    const length = lengths[at] ?? 0;
    return length === 0 ? '' : paint(color, glyph.repeat(length));
  }).join('');
}

/** The first segment takes from the others, in order, the progress that `percent` shows beyond it. */
function doneShares([finished = 0, ...others]: readonly number[], percent: number): number[] {
  const total = finished + sumOf(others);
  let left = Math.max(0, (percent * total) / 100 - finished);
  const done = finished + left;
  const rest = others.map((count) => {
    const taken = Math.min(left, count);
    left -= taken;
    return count - taken;
  });
  return [done, ...rest];
}

/** Lengths proportional to `shares` that sum to the width; each class with a cell gets at least one. */
export function segmentLengths(
  counts: readonly number[],
  width: number,
  shares: readonly number[] = counts,
): readonly number[] {
  const total = sumOf(counts);
  if (total === 0) return counts.map((_, at) => (at === counts.length - 1 ? width : 0));
  const exact = shares.map((share) => (share * width) / total);
  const lengths = exact.map((length, at) =>
    counts[at] === 0 ? Math.floor(length) : Math.max(1, Math.floor(length)),
  );
  for (let left = width - sumOf(lengths); left !== 0; left += left > 0 ? -1 : 1) {
    const isShort = left > 0;
    // The segment that lost most by rounding gains one; the longest gives one.
    const weigh = (at: number) =>
      isShort ? (exact[at] ?? 0) - (lengths[at] ?? 0) : (lengths[at] ?? 0);
    const chosen = counts.reduce((best, _, at) => (weigh(at) > weigh(best) ? at : best), 0);
    lengths[chosen] = (lengths[chosen] ?? 0) + (isShort ? 1 : -1);
  }
  return lengths;
}

function sumOf(lengths: readonly number[]): number {
  return lengths.reduce((sum, length) => sum + length, 0);
}

/** The progress of one state. It is rounded down, so that 100% means complete. */
export function percentText(share: number): string {
  return `${Math.floor(share * 1_000) / 10}%`;
}
