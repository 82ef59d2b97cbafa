// One bar for five counts: a segment per class, side by side.
//
// A class with a cell has at least one character, so that the only failure among a thousand is seen, and a bar
// is full of one class only when all cells are.
import type { Counts } from '@syncline/jobs';
import type { Paint } from '../paint.js';
import { CLASS_STYLES } from './status-style.js';

/** What is not started stands at the right end, where bars are empty. */
const IN_BAR = ['finished', 'running', 'warned', 'failed', 'notStarted'].flatMap((name) =>
  CLASS_STYLES.filter((style) => style.name === name),
);

export function renderBar(cells: Counts, width: number, paint: Paint): string {
  const lengths = segmentLengths(
    IN_BAR.map(({ name }) => cells[name]),
    width,
  );
  return IN_BAR.map(({ color, glyph }, at) => {
    const length = lengths[at] ?? 0;
    return length === 0 ? '' : paint(color, glyph.repeat(length));
  }).join('');
}

/** Their sum is the width. */
export function segmentLengths(counts: readonly number[], width: number): readonly number[] {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return counts.map((_, at) => (at === counts.length - 1 ? width : 0));
  const exact = counts.map((count) => (count * width) / total);
  const lengths = exact.map((length) => (length === 0 ? 0 : Math.max(1, Math.floor(length))));
  for (let left = width - sumOf(lengths); left !== 0; left += left > 0 ? -1 : 1) {
    const isShort = left > 0;
    // Who lost most by rounding gets one more; who has most gives one.
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
