// A file or a directory of a simulated machine. Each keeps its durable part beside its present one.

export interface FileNode {
  readonly kind: 'file';
  readonly inode: string;
  content: Uint8Array;
  /** The first bytes of the content that a loss of power leaves. */
  syncedBytes: number;
  modifiedMs: number;
  /** A sync has failed: what was appended since is unknown, and no later sync may claim it. */
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
  const content = new Uint8Array(0);
  return { kind: 'file', inode, content, syncedBytes: 0, modifiedMs: nowMs, hasFailed: false };
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

export function appendTo(file: FileNode, bytes: Uint8Array, nowMs: number): void {
  const content = new Uint8Array(file.content.length + bytes.length);
  content.set(file.content);
  content.set(bytes, file.content.length);
  file.content = content;
  file.modifiedMs = nowMs;
}
