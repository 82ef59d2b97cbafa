// Reads the invariants of a SPEC.md. Each begins with its number in bold, `**K12**`, and ends before
// the next number or heading; somewhere in it "Enforced by" says what holds it up.

/** Which package numbers its invariants with which letter. */
export const invariantLetters: ReadonlyMap<string, string> = new Map(
  Object.entries({
    F: 'fair',
    J: 'jobs',
    K: 'kernel',
    M: 'mesh',
    R: 'riblt',
    S: 'sets',
    X: 'streams',
  }),
);

export interface Invariant {
  readonly id: string;
  readonly line: number;
  readonly isEnforced: boolean;
}

export function parseInvariants(spec: string): Invariant[] {
  const found: Invariant[] = [];
  for (const [index, text] of spec.split('\n').entries()) {
    const id = /^[\s\-*|]*\*\*([A-Z]\d+)\*\*/.exec(text)?.[1];
    if (id !== undefined) found.push({ id, line: index + 1, isEnforced: false });
    const last = found.at(-1);
    if (last !== undefined && /enforced by/i.test(text)) {
      found[found.length - 1] = { ...last, isEnforced: true };
    }
  }
  return found;
}

/** The numbers that a title or message begins with: `K20 K21 no gap` has two. */
export function leadingIds(text: string): string[] {
  const lead = /^\s*((?:[A-Z]\d+\b[,:]?\s*)+)(?=\S|$)/.exec(text)?.[1];
  return lead?.match(/[A-Z]\d+/g) ?? [];
}
