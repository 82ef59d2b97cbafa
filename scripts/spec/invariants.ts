// Reads the invariants of a SPEC.md. Each begins with its number in bold, `**K12**`, and ends before
// the next number or heading; it contains "Enforced by" and what enforces it.

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
  /** Names of files that it is said to be enforced by: `feed.test.ts`. */
  readonly files: readonly string[];
}

export function parseInvariants(spec: string): Invariant[] {
  const found: Invariant[] = [];
  let line = 1;
  for (const block of spec.split(/\n(?=#|[\s\-*|]*\*\*[A-Z]\d+\*\*)/)) {
    const id = /^[\s\-*|]*\*\*([A-Z]\d+)\*\*/.exec(block)?.[1];
    if (id !== undefined) {
      const [, enforcedBy] = block.split(/enforced by/i);
      const names = enforcedBy?.matchAll(/`([\w./-]+\.ts)`/g) ?? [];
      const files = Array.from(names, ([, name = '']) => name);
      found.push({ id, line, isEnforced: enforcedBy !== undefined, files });
    }
    line += block.split('\n').length;
  }
  return found;
}

/** The numbers that a title or message begins with: `K20 K21 no gap` has two. */
export function leadingIds(text: string): string[] {
  const lead = /^\s*((?:[A-Z]\d+\b[,:]?\s*)+)(?=\S|$)/.exec(text)?.[1];
  return lead?.match(/[A-Z]\d+/g) ?? [];
}
