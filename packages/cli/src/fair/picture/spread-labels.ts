// Moves labels apart that would overlap, keeping them as close to their wanted positions as possible.

export interface LabelRange {
  readonly from: number;
  readonly to: number;
  /** The height of one label. */
  readonly height: number;
}

/** Keeps the order of the labels. If they do not all fit, the last ones are outside the range. */
export function spreadLabels(wanted: readonly number[], range: LabelRange): readonly number[] {
  const order = wanted.map((_, index) => index);
  order.sort((left, right) => (wanted[left] ?? 0) - (wanted[right] ?? 0));
  const placed = new Array<number>(wanted.length).fill(0);
  let below = range.to + range.height;
  for (const index of order.toReversed()) {
    below = Math.min(wanted[index] ?? 0, below - range.height);
    placed[index] = below;
  }
  let above = range.from - range.height;
  for (const index of order) {
    above = Math.max(placed[index] ?? 0, above + range.height);
    placed[index] = above;
  }
  return placed;
}
