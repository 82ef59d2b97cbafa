// Outcomes compose. One outcome is f(p) = min(high, max(low, p + amount)), and f followed by g is again
// of this form, so any number of outcomes of a cell can be sent as one change, exactly. Adding amounts up and
// clamping at the end would not: 25 failures and then 25 recoveries of the same size, from p = 1, end at
// 0 and not at 1.
//
// F4  Applying a fold is applying its outcomes one by one.

export interface Fold {
  readonly amount: number;
  readonly low: number;
  readonly high: number;
}

/** The identity on [0, 1]. */
export const NO_CHANGE: Fold = Object.freeze({ amount: 0, low: 0, high: 1 });

export function applyFold({ amount, low, high }: Fold, probability: number): number {
  return Math.min(high, Math.max(low, probability + amount));
}

/** First `earlier`, then `later`. */
export function composeFolds(earlier: Fold, later: Fold): Fold {
  return {
    amount: earlier.amount + later.amount,
    low: applyFold(later, earlier.low),
    high: applyFold(later, earlier.high),
  };
}
