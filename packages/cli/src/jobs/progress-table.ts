// Rows of progress as lines: a bar, percent and five counts each, and what there is to say beside them.
import type { Counts } from '@syncline/jobs';
import { cutToWidth, displayWidth, padEnd, padStart } from '../display-width.js';
import type { Color, Paint } from '../paint.js';
import { type Screen, wrapWords } from '../screen.js';
import { renderBar } from './progress-bar.js';
import {
  GAP,
  INDENT,
  layoutProgress,
  PERCENT_WIDTH,
  type ProgressLayout,
} from './progress-layout.js';
import { CLASS_STYLES } from './status-style.js';

export interface ProgressRow {
  /** Safe for a terminal, as the note. */
  readonly name: string;
  readonly cells: Counts;
  readonly percent: number;
  readonly note: string;
  readonly noteColor: Color;
  /** Stays when not all rows fit. */
  readonly isTotal: boolean;
}

export interface ProgressTableOptions {
  /** Heads the column of names: what a row stands for. */
  readonly noun: string;
  /** Heads the column of notes. */
  readonly noteTitle: string;
  /** A note that would have less room than this goes below its row. */
  readonly noteWidthLeast: number;
  readonly paint: Paint;
  readonly screen: Screen;
}

const between = ' '.repeat(GAP);
const indent = ' '.repeat(INDENT);

/** As many rows as fit; those left out are the least severe, and the last line counts them. */
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
 * The total stays, then come those with failures, with warnings, those that run. Only what may be shown is
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
  const bar = renderBar(row.cells, layout.barWidth, paint);
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

/** A count stays with its word. */
function countWords(cells: Counts, columns: number, paint: Paint): readonly string[] {
  const words = CLASS_STYLES.map(({ name, word }) => `${cells[name]}\u00a0${word}`);
  const lines = wrapWords(words.join(' '), columns);
  return lines.map((line) => paint('dim', line.replaceAll('\u00a0', ' ')));
}
