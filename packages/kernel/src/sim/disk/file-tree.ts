// The files of a simulated machine: what processes see, and beside it what is durable.
//
// A file's content is durable up to its last sync. Names are durable once their directory was synced;
// until then each creation, rename and removal is a change of its own, and a loss of power keeps any
// subset of them. A rename is one change: it never leaves a file without any name.
//
// K84  Synced content under a synced name survives a loss of power.
import { splitPath } from '../../files/file-path.js';
import { fileSystemError } from '../../files/file-system-error.js';
import type { PowerLoss } from './disk-plan.js';
import type { DirectoryNode, FileNode, TreeNode } from './file-node.js';
import { createDirectoryNode, createFileNode } from './file-node.js';

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
    if (node === undefined) throw problem(path, 'ENOENT');
    if (node.kind !== 'file') throw problem(path, 'EISDIR');
    return node;
  }

  directory(path: string): DirectoryNode {
    const node = this.find(path);
    if (node === undefined) throw problem(path, 'ENOENT');
    if (node.kind !== 'directory') throw problem(path, 'ENOTDIR');
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
    if (node === undefined) throw problem(fromPath, 'ENOENT');
    const replaced = this.find(toPath);
    if (replaced === node) return;
    const isIntoItself = `${splitPath(toPath).join('/')}/`.startsWith(
      `${splitPath(fromPath).join('/')}/`,
    );
    if (isIntoItself) throw problem(toPath, 'EINVAL');
    if (replaced !== undefined && replaced.kind !== node.kind) {
      throw problem(toPath, replaced.kind === 'file' ? 'ENOTDIR' : 'EISDIR');
    }
    if (replaced?.kind === 'directory' && replaced.entries.size > 0)
      throw problem(toPath, 'ENOTEMPTY');
    this.#change({ kind: 'rename', from: this.#place(fromPath), place: this.#place(toPath), node });
  }

  remove(path: string): void {
    const node = this.find(path);
    if (node === undefined) throw problem(path, 'ENOENT');
    if (node.kind === 'directory' && node.entries.size > 0) throw problem(path, 'ENOTEMPTY');
    this.#change({ kind: 'unlink', place: this.#place(path), node });
  }

  /** Makes every change of names in this directory durable; a rename belongs to where it leads. */
  syncNames(directory: DirectoryNode): void {
    const isHere = (change: NameChange) => change.place.directory === directory;
    for (const change of this.#unsynced) if (isHere(change)) apply(change, 'durable');
    this.#unsynced = this.#unsynced.filter((change) => !isHere(change));
  }

  /** The process has ended. Of what a failed sync has left in doubt, a part may be gone. */
  endProcess(survivingBytes: (unsyncedBytes: number) => number): void {
    for (const { node } of this.#walk()) {
      if (node.hasFailed && node.kind === 'file') truncate(node, survivingBytes);
      node.hasFailed = false;
    }
  }

  losePower(loss: PowerLoss): void {
    for (const change of this.#unsynced) {
      const subject = change.place.name;
      if (loss.survives({ kind: 'name', subject })) apply(change, 'durable');
    }
    this.#unsynced = [];
    for (const { path, node } of this.#walk()) {
      if (node.kind === 'directory')
        node.entries = new Map(node.durable); // before we go into it
      else truncate(node, (unsyncedBytes) => loss.survivingBytes(unsyncedBytes, path));
      node.hasFailed = false;
    }
  }

  /** Everything there is, directories before what is in them. */
  *#walk(path = '', node: TreeNode = this.#root): Generator<{ path: string; node: TreeNode }> {
    yield { path, node };
    if (node.kind === 'file') return;
    for (const [name, child] of node.entries) yield* this.#walk(`${path}/${name}`, child);
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
    if (name === undefined) throw problem(path, 'EINVAL');
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

/** Leaves a part of what was not synced; all that is left counts as synced. */
function truncate(file: FileNode, survivingBytes: (unsyncedBytes: number) => number): void {
  const unsyncedBytes = file.content.length - file.syncedBytes;
  if (unsyncedBytes === 0) return;
  file.content = file.content.slice(0, file.syncedBytes + survivingBytes(unsyncedBytes));
  file.syncedBytes = file.content.length;
}

function problem(path: string, errno: 'EISDIR' | 'EINVAL' | 'ENOENT' | 'ENOTDIR' | 'ENOTEMPTY') {
  const cause = new Error(`${errno} (simulated)`);
  return fileSystemError({ action: 'use', path, errno, cause });
}
