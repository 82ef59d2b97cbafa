// A sorted map that can be frozen in constant time: a B+ tree whose nodes are copied before they are changed, but
// only if a frozen tree may still see them.
//
// Each node carries the token of the writer that made it. Freezing passes the root to a reader and takes a new token,
// so that from then on every old node is copied on its first change: a freeze costs nothing, and the writes after it
// copy one path each. Keys and values are one-byte strings (latin1): they compare and copy natively, and take a fifth
// of the memory of small Uint8Arrays.
import { lowerBound, type MemoryBranch, type MemoryNode, placeOf } from './memory-node.js';

/** Children of a node. 64 keeps the tree flat (a million keys in 4 levels) and splices short. */
const ENTRIES_MAX = 64;
/**
 * Below this a node is joined with its neighbor if both fit. Far below half, so that nodes are not split and joined
 * again and again.
 */
const ENTRIES_MIN = 16;

interface Split {
  readonly key: string;
  readonly node: MemoryNode;
}

export class MemoryTree {
  #token = {};
  #root: MemoryNode = { kind: 'leaf', token: this.#token, keys: [], values: [] };

  /** The current content. It never changes again. */
  freeze(): MemoryNode {
    this.#token = {};
    return this.#root;
  }

  /** The content as it is: only for reads that end before the next write. */
  get root(): MemoryNode {
    return this.#root;
  }

  put(key: string, value: string): void {
    const root = this.#owned(this.#root);
    const split = this.#putInto(root, key, value);
    this.#root = root;
    if (split === undefined) return;
    const keys = ['', split.key];
    this.#root = { kind: 'branch', token: this.#token, keys, children: [root, split.node] };
  }

  delete(key: string): void {
    const root = this.#owned(this.#root);
    this.#deleteFrom(root, key);
    const only =
      root.kind === 'branch' && root.children.length === 1 ? root.children[0] : undefined;
    this.#root = only ?? root;
  }

  #owned(node: MemoryNode): MemoryNode {
    if (node.token === this.#token) return node;
    return node.kind === 'leaf'
      ? { ...node, token: this.#token, keys: node.keys.slice(), values: node.values.slice() }
      : { ...node, token: this.#token, keys: node.keys.slice(), children: node.children.slice() };
  }

  #ownedChild(branch: MemoryBranch, place: number): MemoryNode {
    const child = this.#owned(branch.children[place] as MemoryNode);
    branch.children[place] = child;
    return child;
  }

  #putInto(node: MemoryNode, key: string, value: string): Split | undefined {
    if (node.kind === 'leaf') {
      const place = lowerBound(node.keys, key);
      if (node.keys[place] === key) {
        node.values[place] = value;
        return undefined;
      }
      node.keys.splice(place, 0, key);
      node.values.splice(place, 0, value);
    } else {
      const place = placeOf(node, key);
      const split = this.#putInto(this.#ownedChild(node, place), key, value);
      if (split === undefined) return undefined;
      node.keys.splice(place + 1, 0, split.key);
      node.children.splice(place + 1, 0, split.node);
    }
    return node.keys.length > ENTRIES_MAX ? this.#split(node, node.keys.at(-1) === key) : undefined;
  }

  /** Keys that are added in ascending order leave full nodes behind them. */
  #split(node: MemoryNode, isAppended: boolean): Split {
    const at = isAppended ? ENTRIES_MAX : ENTRIES_MAX / 2;
    const keys = node.keys.splice(at);
    const right: MemoryNode =
      node.kind === 'leaf'
        ? { kind: 'leaf', token: this.#token, keys, values: node.values.splice(at) }
        : { kind: 'branch', token: this.#token, keys, children: node.children.splice(at) };
    return { key: keys[0] as string, node: right };
  }

  #deleteFrom(node: MemoryNode, key: string): void {
    if (node.kind === 'leaf') {
      const place = lowerBound(node.keys, key);
      if (node.keys[place] !== key) return;
      node.keys.splice(place, 1);
      node.values.splice(place, 1);
      return;
    }
    const place = placeOf(node, key);
    const child = this.#ownedChild(node, place);
    this.#deleteFrom(child, key);
    if (child.keys.length < ENTRIES_MIN && node.children.length > 1) {
      this.#joinWithNext(node, Math.min(place, node.children.length - 2));
    }
  }

  #joinWithNext(branch: MemoryBranch, place: number): void {
    const left = branch.children[place] as MemoryNode;
    const right = branch.children[place + 1] as MemoryNode;
    const isEmpty = left.keys.length === 0 || right.keys.length === 0;
    if (!isEmpty && left.keys.length + right.keys.length > ENTRIES_MAX - ENTRIES_MIN) return;
    const target = this.#ownedChild(branch, place);
    target.keys.push(...right.keys);
    if (target.kind === 'leaf' && right.kind === 'leaf') target.values.push(...right.values);
    if (target.kind === 'branch' && right.kind === 'branch')
      target.children.push(...right.children);
    branch.keys.splice(place + 1, 1);
    branch.children.splice(place + 1, 1);
  }
}
