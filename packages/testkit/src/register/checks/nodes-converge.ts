// All nodes are up, have the same total and have applied the same updates.
import type { RegisterView } from './register-view.js';

/** Undefined when they agree, otherwise where they differ. */
export function differenceBetween(
  nodes: readonly string[],
  views: readonly RegisterView[],
): string | undefined {
  const missing = nodes.find((node) => views.every((view) => view.node !== node));
  if (missing !== undefined) return `${missing} is not up`;
  const [first, ...others] = views;
  if (first === undefined) return undefined;
  const expected = describeView(first);
  const other = others.find((view) => describeView(view) !== expected);
  if (other === undefined) return undefined;
  return `${first.node} has ${expected}, ${other.node} has ${describeView(other)}`;
}

function describeView({ state, updates }: RegisterView): string {
  const applied = [...state.applied].sort(([a], [b]) => (a < b ? -1 : 1));
  const counters = applied.map(([node, counter]) => `${node}:${counter}`).join(' ');
  return `total ${state.total} of ${updates.length} updates (${counters})`;
}
