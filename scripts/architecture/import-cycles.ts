// No two files import each other, not even for types: if they need to, they are one file, or a third one holds
// what they share. A cycle also makes the order of evaluation accidental.
import { posix } from 'node:path';
import type { Repository } from '../repository/repository.js';
import type { Rule } from '../repository/rule.js';

export const importCycles: Rule = {
  name: 'import-cycles',
  *find(repository) {
    for (const cycle of findCycles(importGraph(repository))) {
      const [path = ''] = cycle;
      const way = [...cycle, path].map((file) => posix.basename(file)).join(' -> ');
      yield { path, line: 1, message: `files import each other: ${way}` };
    }
  },
};

type Graph = ReadonlyMap<string, readonly string[]>;

function importGraph(repository: Repository): Graph {
  return new Map(
    repository.sources.map(({ path, imports }) => [
      path,
      imports
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => posix.join(posix.dirname(path), specifier.replace(/\.js$/, '.ts'))),
    ]),
  );
}

/** One cycle per file that a depth-first search reaches while it is still on the stack. */
function findCycles(graph: Graph): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const way: string[] = [];
  const visit = (path: string): void => {
    const seenAt = way.indexOf(path);
    if (seenAt !== -1) cycles.push(way.slice(seenAt));
    if (seenAt !== -1 || done.has(path)) return;
    way.push(path);
    for (const target of graph.get(path) ?? []) visit(target);
    way.pop();
    done.add(path);
  };
  for (const path of graph.keys()) visit(path);
  return cycles;
}
