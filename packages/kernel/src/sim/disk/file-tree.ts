// The files of a simulated machine: what processes see, and beside it what is durable.
//
// A file's content is durable up to its last sync. Names are durable once their directory was synced;
// until then each creation, rename and removal is a change of its own, and a loss of power keeps any
// subset of them. A rename is one change: it never leaves a file without any name.
//
// K84  Synced content under a synced name survives a loss of power.
import { SynclineError } from '../../error.js';
import type { PowerLoss } from './disk-plan.js';
import type { DirectoryNode, FileNode, TreeNode } from './file-node.js';
import { createDirectoryNode, createFileNode } from './file-node.js';
import { splitPath } from './file-path.js';

type NameChange =
  | { readonly kind: 'link'; readonly place: Place; readonly node: TreeNode }
  | { readonly kind: 'unlink'; readonly place: Place; readonly node: TreeNode }
  | {
      readonly kind: 'rename';
      readonly place: Place;
      readonly node: TreeNode;
      readonly from: Place;
    };

/** A name in a directory. */
interface Place {
  readonly directory: DirectoryNode;
  readonly name: string;
}

/** Beyond this many, the oldest count as written back. */
const UNSYNCED_NAMES_MAX = 1024;

export class FileTree {
  readonly #root = createDirectoryNode('1', 0);
  #lastInode = 1;
  /** Changes of names that are not durable, oldest first. */
  #unsynced: NameChange[] = [];

  find(path: string): TreeNode | undefined {
    let node: TreeNode | undefined = this.#root;
    for (const name of splitPath(path)) {
      node = node?.kind === 'directory' ? node.entries.get(name) : undefined;
    }
    return node;
  }

  file(path: string): FileNode {
    const node = this.find(path);
    if (node === undefined) throw notFound(path);
    if (node.kind !== 'file') throw invalidPath(path, 'it is a directory');
    return node;
  }

  directory(path: string): DirectoryNode {
    const node = this.find(path);
    if (node === undefined) throw notFound(path);
    if (node.kind !== 'directory') throw invalidPath(path, 'it is a file');
    return node;
  }

  fileToAppend(path: string, nowMs: number): FileNode {
    if (this.find(path) !== undefined) return this.file(path);
    const node = createFileNode(this.#nextInode(), nowMs);
    this.#change({ kind: 'link', place: this.#place(path), node });
    return node;
  }

  makeDirectories(path: string, nowMs: number): void {
    let parent = '';
    for (const name of splitPath(path)) {
      parent = parent === '' ? name : `${parent}/${name}`;
      if (this.find(parent) !== undefined) this.directory(parent);
      else {
        const node = createDirectoryNode(this.#nextInode(), nowMs);
        this.#change({ kind: 'link', place: this.#place(parent), node });
      }
    }
  }

  rename(fromPath: string, toPath: string): void {
    const node = this.find(fromPath);
    if (node === undefined) throw notFound(fromPath);
    const replaced = this.find(toPath);
    if (replaced === node) return;
    if (replaced !== undefined && replaced.kind !== node.kind) {
      throw invalidPath(toPath, `it is a ${replaced.kind}`);
    }
    if (replaced?.kind === 'directory' && replaced.entries.size > 0) throw notEmpty(toPath);
    this.#change({ kind: 'rename', from: this.#place(fromPath), place: this.#place(toPath), node });
  }

  remove(path: string): void {
    const node = this.find(path);
    if (node === undefined) throw notFound(path);
    if (node.kind === 'directory' && node.entries.size > 0) throw notEmpty(path);
    this.#change({ kind: 'unlink', place: this.#place(path), node });
  }

  /** Makes every change of names in this directory durable; a rename belongs to where it leads. */
  syncNames(directory: DirectoryNode): void {
    const isHere = (change: NameChange) => change.place.directory === directory;
    for (const change of this.#unsynced) if (isHere(change)) apply(change, 'durable');
    this.#unsynced = this.#unsynced.filter((change) => !isHere(change));
  }

  losePower(loss: PowerLoss): void {
    for (const change of this.#unsynced) {
      const subject = change.place.name;
      if (loss.survives({ kind: 'name', subject })) apply(change, 'durable');
    }
    this.#unsynced = [];
    restore(this.#root, '', loss);
  }

  #change(change: NameChange): void {
    apply(change, 'entries');
    this.#unsynced.push(change);
    if (this.#unsynced.length <= UNSYNCED_NAMES_MAX) return;
    for (const old of this.#unsynced.splice(0, UNSYNCED_NAMES_MAX / 2)) apply(old, 'durable');
  }

  #place(path: string): Place {
    const names = splitPath(path);
    const name = names.at(-1);
    if (name === undefined) throw invalidPath(path, 'it is the root');
    return { directory: this.directory(names.slice(0, -1).join('/')), name };
  }

  #nextInode(): string {
    this.#lastInode += 1;
    return String(this.#lastInode);
  }
}

/** Only its own node is unlinked: the name may have been given to another one meanwhile. */
function apply(change: NameChange, view: 'entries' | 'durable'): void {
  const names = change.place.directory[view];
  if (change.kind === 'unlink') {
    if (names.get(change.place.name) === change.node) names.delete(change.place.name);
    return;
  }
  names.set(change.place.name, change.node);
  if (change.kind === 'rename') {
    const fromNames = change.from.directory[view];
    if (fromNames.get(change.from.name) === change.node) fromNames.delete(change.from.name);
  }
}

/** What is durable is all there is. */
function restore(directory: DirectoryNode, path: string, loss: PowerLoss): void {
  directory.entries = new Map(directory.durable);
  for (const [name, node] of directory.entries) {
    const nodePath = path === '' ? name : `${path}/${name}`;
    if (node.kind === 'directory') restore(node, nodePath, loss);
    else {
      const unsyncedBytes = node.content.length - node.syncedBytes;
      const kept = unsyncedBytes === 0 ? 0 : loss.survivingBytes(unsyncedBytes, nodePath);
      node.content = node.content.slice(0, node.syncedBytes + kept);
      node.syncedBytes = node.content.length;
      node.hasFailed = false;
    }
  }
}

function notFound(path: string): SynclineError {
  return new SynclineError('not-found', `there is nothing at ${path}`, { details: { path } });
}

function notEmpty(path: string): SynclineError {
  return new SynclineError('conflict', `the directory ${path} is not empty`, {
    details: { path, reason: 'not-empty' },
  });
}

function invalidPath(path: string, why: string): SynclineError {
  return new SynclineError('invalid-argument', `cannot use the path ${path}: ${why}`, {
    details: { field: 'path', path },
  });
}
