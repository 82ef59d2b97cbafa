// The tree compared with a plain sorted list: same content after any operations, and what was frozen stays.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findValue, type MemoryNode, readPiece } from './memory-node.js';
import { MemoryTree } from './memory-tree.js';

const ALL = { from: '', to: undefined, reverse: false, entriesMax: 1e9, bytesMax: 1e9 };

type Step =
  | { readonly kind: 'put' | 'delete'; readonly key: number }
  | { readonly kind: 'fill' | 'clear'; readonly key: number; readonly count: number }
  | { readonly kind: 'freeze' };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('put'), key: fc.nat(999) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('delete'), key: fc.nat(999) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('fill', 'clear'),
      key: fc.nat(5000),
      count: fc.nat(600),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('freeze') }) },
);

function nameOf(key: number): string {
  return String(key).padStart(5, '0');
}

function entriesOf(root: MemoryNode): (readonly [string, string])[] {
  const { keys, values } = readPiece(root, ALL);
  return keys.map((key, place) => [key, values[place] ?? '']);
}

function sorted(model: ReadonlyMap<string, string>): (readonly [string, string])[] {
  return [...model].sort(([left], [right]) => (left < right ? -1 : 1));
}

describe('MemoryTree', () => {
  it('K10 K12 holds what a plain sorted list holds, and what was frozen never changes', () => {
    const run = (steps: readonly Step[]) => {
      const world: World = { tree: new MemoryTree(), model: new Map(), frozen: [] };
      for (const [version, action] of steps.entries()) apply(world, action, version);
      expect(entriesOf(world.tree.root)).toEqual(sorted(world.model));
      for (const { root, expected } of world.frozen) expect(entriesOf(root)).toEqual(expected);
      checkReads(world.tree.root, world.model);
    };
    fc.assert(fc.property(fc.array(step, { maxLength: 60 }), run), { numRuns: 60 });
  });

  it('stays flat and full when keys come in rising order', () => {
    const tree = new MemoryTree();
    for (let key = 0; key < 50_000; key += 1) tree.put(nameOf(key), 'v');
    const shape = shapeOf(tree.root);
    expect(shape.depth).toBe(3);
    expect(shape.leaves).toBeLessThan(50_000 / 60);
  });

  it('shrinks again when its keys are deleted in any order', () => {
    const tree = new MemoryTree();
    const keys = Array.from({ length: 20_000 }, (_, key) => nameOf((key * 7919) % 20_000));
    for (const key of keys) tree.put(key, 'v');
    for (const key of keys.slice(0, 19_900)) tree.delete(key);
    expect(entriesOf(tree.root).map(([key]) => key)).toEqual(keys.slice(19_900).sort());
    expect(shapeOf(tree.root).leaves).toBeLessThan(30);
  });
});

interface World {
  readonly tree: MemoryTree;
  readonly model: Map<string, string>;
  readonly frozen: { root: MemoryNode; expected: readonly (readonly [string, string])[] }[];
}

function apply({ tree, model, frozen }: World, action: Step, version: number): void {
  if (action.kind === 'freeze') {
    frozen.push({ root: tree.freeze(), expected: sorted(model) });
    return;
  }
  const count = 'count' in action ? action.count : 1;
  for (let key = action.key; key < action.key + count; key += 1) {
    const name = nameOf(key);
    if (action.kind === 'put' || action.kind === 'fill') {
      tree.put(name, String(version));
      model.set(name, String(version));
    } else {
      tree.delete(name);
      model.delete(name);
    }
  }
}

/** Single reads and pieces of ranges, from and to keys that exist and keys that do not. */
function checkReads(root: MemoryNode, model: ReadonlyMap<string, string>): void {
  const all = sorted(model);
  for (let key = 0; key < 5600; key += 97) {
    const from = nameOf(key);
    const to = nameOf(key + 300);
    expect(findValue(root, from)).toBe(model.get(from));
    const expected = all.map(([name]) => name).filter((name) => name >= from && name < to);
    const query = { from, to, entriesMax: 50, bytesMax: 1e9 };
    expect(readPiece(root, { ...query, reverse: false }).keys).toEqual(expected.slice(0, 50));
    const reversed = expected.toReversed().slice(0, 50);
    expect(readPiece(root, { ...query, reverse: true }).keys).toEqual(reversed);
  }
}

function shapeOf(node: MemoryNode): { depth: number; leaves: number } {
  if (node.kind === 'leaf') return { depth: 1, leaves: 1 };
  const shapes = node.children.map(shapeOf);
  const leaves = shapes.reduce((sum, shape) => sum + shape.leaves, 0);
  return { depth: 1 + Math.max(...shapes.map(({ depth }) => depth)), leaves };
}
