// A file or a directory of a simulated machine. Each keeps its durable state beside its current one.
import { FileContent } from './file-content.js';

export interface FileNode {
  readonly kind: 'file';
  readonly inode: string;
  readonly content: FileContent;
  modifiedMs: number;
  /** A sync has failed: what was written since the last one is unknown, and no later sync may claim it. */
  hasFailed: boolean;
}

export interface DirectoryNode {
  readonly kind: 'directory';
  readonly inode: string;
  entries: Map<string, TreeNode>;
  readonly durable: Map<string, TreeNode>;
  readonly modifiedMs: number;
  /** As for files. */
  hasFailed: boolean;
}

export type TreeNode = FileNode | DirectoryNode;

export function createFileNode(inode: string, nowMs: number): FileNode {
  return { kind: 'file', inode, content: new FileContent(), modifiedMs: nowMs, hasFailed: false };
}

export function createDirectoryNode(inode: string, nowMs: number): DirectoryNode {
  return {
    kind: 'directory',
    inode,
    entries: new Map(),
    durable: new Map(),
    modifiedMs: nowMs,
    hasFailed: false,
  };
}
