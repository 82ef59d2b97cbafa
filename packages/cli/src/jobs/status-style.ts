// How the five classes of a cell look: word, colour, and the glyph of a bar. The glyphs differ, so that a bar can
// be read without colours too.
import type { Counts } from '@syncline/jobs';
import type { Color } from '../paint.js';

export type CountedClass = Exclude<keyof Counts, 'total'>;

export interface ClassStyle {
  readonly name: CountedClass;
  /** Heads a column. */
  readonly word: string;
  readonly color: Color;
  readonly glyph: string;
}

/** From left to right, in a bar and in a row. */
export const CLASS_STYLES: readonly ClassStyle[] = [
  { name: 'finished', word: 'done', color: 'green', glyph: '█' },
  { name: 'running', word: 'run', color: 'cyan', glyph: '▓' },
  { name: 'notStarted', word: 'todo', color: 'dim', glyph: '░' },
  { name: 'warned', word: 'warn', color: 'yellow', glyph: '▒' },
  { name: 'failed', word: 'fail', color: 'red', glyph: '▚' },
];
