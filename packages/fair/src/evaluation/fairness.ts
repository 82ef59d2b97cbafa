// How fair a division was: what each client got, divided by what it was entitled to.

/** Max-min: no one gets more than they want, and the rest is shared by the others. */
export function maxMinShares(amount: number, wants: readonly number[]): number[] {
  const shares = new Array<number>(wants.length).fill(0);
  const poorestFirst = wants
    .map((want, index) => ({ want, index }))
    .sort((left, right) => left.want - right.want);
  let left = amount;
  for (const [rank, { want, index }] of poorestFirst.entries()) {
    const share = Math.min(want, left / (wants.length - rank));
    shares[index] = share;
    left -= share;
  }
  return shares;
}

/** Jain's index: 1 when all are equal, 1/n when one has everything. */
export function jainIndex(values: readonly number[]): number {
  return sum(values) ** 2 / (values.length * sum(values.map((value) => value * value)));
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
