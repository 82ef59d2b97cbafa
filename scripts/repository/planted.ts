// Planted violations prove that a rule can fail. Each rule of a list needs at least one set of files
// that breaks it and one that comes close and does not.
import { Repository } from './repository.js';
import { judge, type Rule } from './rule.js';

export type Files = Readonly<Record<string, string>>;

export interface Planted {
  /** Each breaks the rule. */
  readonly bad: readonly Files[];
  /** Each looks similar but is allowed. */
  readonly good: readonly Files[];
}

/** What is wrong with the rules themselves; an empty list when each can fail and can pass. */
export function proveRules(
  rules: readonly Rule[],
  planted: Readonly<Record<string, Planted>>,
): string[] {
  const problems = Object.keys(planted)
    .filter((name) => !rules.some((rule) => rule.name === name))
    .map((name) => `${name} is planted but there is no such rule`);
  for (const rule of rules) {
    const { bad, good } = planted[rule.name] ?? { bad: [], good: [] };
    if (bad.length === 0) problems.push(`${rule.name} has no planted violation`);
    if (good.length === 0) problems.push(`${rule.name} has nothing that it must let pass`);
    for (const files of bad) {
      if (judgeFiles(rule, files).length > 0) continue;
      problems.push(`${rule.name} lets this pass: ${JSON.stringify(files)}`);
    }
    for (const files of good) problems.push(...judgeFiles(rule, files));
  }
  return problems;
}

function judgeFiles(rule: Rule, files: Files): string[] {
  // A rule about documents still needs one source file, or it counts as having read nothing.
  return judge([rule], Repository.of({ 'packages/fair/src/other.ts': '// Other.\n', ...files }));
}
