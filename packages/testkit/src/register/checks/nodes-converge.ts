// All nodes are up, have the same total and have applied the same updates.
import type { RegisterState } from '../register-core.js';

/** Undefined when they agree, otherwise where they differ. A node without a state is not up. */
export function differenceBetween(
  nodes: readonly { readonly node: string; readonly state: RegisterState | undefined }[],
): string | undefined {
  const missing = nodes.find(({ state }) => state === undefined);
  if (missing !== undefined) return `${missing.node} is not up`;
  const described = nodes.map(({ node, state }) => ({ node, text: state && describe(state) }));
  const [first] = described;
  const other = described.find(({ text }) => text !== first?.text);
  if (first === undefined || other === undefined) return undefined;
  return `${first.node} has ${first.text}, ${other.node} has ${other.text}`;
}

function describe({ total, applied }: RegisterState): string {
  const counters = [...applied].sort(([a], [b]) => (a < b ? -1 : 1));
  return `total ${total} of ${counters.map(([node, counter]) => `${node}:${counter}`).join(' ')}`;
}
