// The files of a simulated machine: what processes see, and beside it what is durable.
//
// A file's content is durable as of its last sync. Names are durable once their directory was synced; until then each
// creation, rename and removal is a separate change, and a power loss keeps any subset of them. A rename is one
// change: it never leaves a file without any name.
//
// K84  Synced content under a synced name survives a power loss.
import { splitPath } from '../../files/file-path.js';
import { simulatedError } from './disk-error.js';
import type { PowerLoss } from './disk-plan.js';
import type { ContentLoss } from './file-content.js';
import type { DirectoryNode, FileNode, TreeNode } from './file-node.js';
import { createDirectoryNode, createFileNode } from './file-node.js';

type NameChange = { readonly place: Place; readonly node: TreeNode } & (
  | { readonly kind: 'link' }
  | { readonly kind: 'unlink' }
  | { readonly kind: 'rename'; readonly from: Place }
);

/** A name in a directory. */
interface Place {
  readonly directory: DirectoryNode;
  readonly name: string;
}

/** Above this number, the oldest count as written back. */
const UNSYNCED_NAMES_MAX = 1024;

export class FileTree {
  readonly #root = createDirectoryNode('1', 0);
  #lastInode = 1;
  /** Changes of names that are not durable, with their numbers, oldest first. */
  readonly #unsynced = new Map<number, NameChange>();
  #changesCount = 0;

  /** Changes of names so far. */
  get changesCount(): number {
    return this.#changesCount;
  }

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

  /**
   * Makes the changes of names in this directory up to number `through` durable. A rename belongs to the
   * directory of its new name.
   */
  syncNames(directory: DirectoryNode, through: number): void {
    for (const [number, change] of this.#unsynced) {
      if (number > through || change.place.directory !== directory) continue;
      apply(change, 'durable');
      this.#unsynced.delete(number);
    }
  }

  /** The process has ended. Part of what a failed sync has left in doubt may be gone. */
  endProcess(loss: ContentLoss): void {
    for (const { node } of this.#walk()) {
      if (node.hasFailed && node.kind === 'file') node.content.lose(loss);
      node.hasFailed = false;
    }
  }

  losePower(loss: PowerLoss): void {
    for (const change of this.#unsynced.values()) {
      const subject = change.place.name;
      if (loss.survives({ kind: 'name', subject })) apply(change, 'durable');
    }
    this.#unsynced.clear();
    for (const { path, node } of this.#walk()) {
      if (node.kind === 'directory') {
        node.entries = new Map(node.durable); // before we descend into it
      } else {
        node.content.lose({
          survivesPage: (page) => loss.survives({ kind: 'page', subject: `${path}#${page}` }),
          survivingBytes: (uncertainBytes) => loss.survivingBytes(uncertainBytes, path),
        });
      }
      node.hasFailed = false;
    }
  }

  /** Everything that exists, directories before their content. */
  *#walk(path = '', node: TreeNode = this.#root): Generator<{ path: string; node: TreeNode }> {
    yield { path, node };
    if (node.kind === 'file') return;
    for (const [name, child] of node.entries) yield* this.#walk(`${path}/${name}`, child);
  }

  #change(change: NameChange): void {
    apply(change, 'entries');
    this.#changesCount += 1;
    this.#unsynced.set(this.#changesCount, change);
    if (this.#unsynced.size <= UNSYNCED_NAMES_MAX) return;
    for (const [number, oldest] of this.#unsynced) {
      if (this.#unsynced.size <= UNSYNCED_NAMES_MAX / 2) break;
      apply(oldest, 'durable');
      this.#unsynced.delete(number);
    }
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

/** Unlinks only the node of the change: its name may belong to another one by now. */
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

function problem(path: string, errno: 'EISDIR' | 'EINVAL' | 'ENOENT' | 'ENOTDIR' | 'ENOTEMPTY') {
  return simulatedError(errno, { action: 'use', path });
}
