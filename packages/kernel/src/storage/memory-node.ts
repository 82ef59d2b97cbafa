// Reading the nodes of a memory tree: one key, or the next few entries of a range.
//
// A reader only holds a root. It reads a range in pieces and finds its position again for each, so that nothing
// stays open and nothing must be closed.

export interface MemoryLeaf {
  readonly kind: 'leaf';
  /** Who may change this node in place. */
  readonly token: object;
  readonly keys: string[];
  readonly values: string[];
}

export interface MemoryBranch {
  readonly kind: 'branch';
  readonly token: object;
  /** Where each child begins: not below this key, and above all keys of the child before. */
  readonly keys: string[];
  readonly children: MemoryNode[];
}

export type MemoryNode = MemoryLeaf | MemoryBranch;

export interface MemoryQuery {
  readonly from: string;
  /** Undefined: beyond the last key. */
  readonly to: string | undefined;
  readonly reverse: boolean;
  readonly entriesMax: number;
  readonly bytesMax: number;
}

export interface MemoryPiece {
  readonly keys: string[];
  readonly values: string[];
  bytes: number;
}

/** The place of the first key that is not below `key`. */
export function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The child in which a key is, or would be. The first child also takes keys below its beginning. */
export function placeOf(branch: MemoryBranch, key: string): number {
  const place = lowerBound(branch.keys, key);
  return branch.keys[place] === key ? place : Math.max(place - 1, 0);
}

export function findValue(root: MemoryNode, key: string): string | undefined {
  let node = root;
  while (node.kind === 'branch') node = node.children[placeOf(node, key)] as MemoryNode;
  const place = lowerBound(node.keys, key);
  return node.keys[place] === key ? node.values[place] : undefined;
}

/** The first entries of the query. At least one if there is any, however large it is. */
export function readPiece(root: MemoryNode, query: MemoryQuery): MemoryPiece {
  const piece: MemoryPiece = { keys: [], values: [], bytes: 0 };
  if (query.reverse) readDown(root, query, piece);
  else readUp(root, query, piece);
  return piece;
}

/** Both readers return true once the piece is full or the range has ended. */
function readUp(node: MemoryNode, query: MemoryQuery, piece: MemoryPiece): boolean {
  if (node.kind === 'branch') {
    for (let place = placeOf(node, query.from); place < node.children.length; place += 1) {
      if (readUp(node.children[place] as MemoryNode, query, piece)) return true;
    }
    return false;
  }
  for (let place = lowerBound(node.keys, query.from); place < node.keys.length; place += 1) {
    const key = node.keys[place] as string;
    if (query.to !== undefined && key >= query.to) return true;
    if (take(piece, query, key, node.values[place] as string)) return true;
  }
  return false;
}

function readDown(node: MemoryNode, query: MemoryQuery, piece: MemoryPiece): boolean {
  if (node.kind === 'branch') {
    const last = query.to === undefined ? node.children.length - 1 : placeOf(node, query.to);
    for (let place = last; place >= 0; place -= 1) {
      if (readDown(node.children[place] as MemoryNode, query, piece)) return true;
    }
    return false;
  }
  const end = query.to === undefined ? node.keys.length : lowerBound(node.keys, query.to);
  for (let place = end - 1; place >= 0; place -= 1) {
    const key = node.keys[place] as string;
    if (key < query.from) return true;
    if (take(piece, query, key, node.values[place] as string)) return true;
  }
  return false;
}

function take(piece: MemoryPiece, query: MemoryQuery, key: string, value: string): boolean {
  piece.keys.push(key);
  piece.values.push(value);
  piece.bytes += key.length + value.length;
  return piece.keys.length >= query.entriesMax || piece.bytes >= query.bytesMax;
}
