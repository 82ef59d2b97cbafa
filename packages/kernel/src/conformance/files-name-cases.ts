// The names of files: listing, renaming, removing, directories, and staying below the root.
//
// K31  A rename replaces its target in one step and keeps the inode.
// K32  A path that would leave the root is refused.
import assert from 'node:assert/strict';
import type { FilesSubject } from './files-subject.js';
import { bytes, text } from './storage-samples.js';

export const fileNameCases = {
  'a stat returns kind, size and time, or that the path is missing': statTells,
  'names are listed in the order of their bytes': listIsSorted,
  'listing a path that is not a directory fails': listFails,
  'a directory is created with its parents, and may already exist': makeDirectories,
  'a directory is not created where a file exists': makeDirOverFile,
  'K31 a rename keeps content and inode and replaces its target': renameReplaces,
  'a rename moves between directories': renameMoves,
  'a rename of a missing path is not-found': renameMissing,
  'a removal deletes a file or an empty directory': removeTakes,
  'removing a missing path is not-found, a non-empty directory conflict': removeFails,
  'K32 paths that leave the root are refused': pathsStayInside,
  'one path may be written in several ways': pathSpellings,
};

async function statTells({ files }: FilesSubject): Promise<void> {
  assert.equal(await files.stat('file'), undefined);
  await files.append('file', bytes('12345'));
  await files.makeDir('directory');
  const file = await files.stat('file');
  assert.equal(file?.kind, 'file');
  assert.equal(file?.bytes, 5);
  assert.ok(Number.isFinite(file?.modifiedMs));
  const directory = await files.stat('directory');
  assert.equal(directory?.kind, 'directory');
  assert.notEqual(directory?.inode, file?.inode);
  assert.equal((await files.stat('.'))?.kind, 'directory');
  assert.equal(await files.stat('file/below'), undefined);
}

async function listIsSorted({ files }: FilesSubject): Promise<void> {
  assert.deepEqual(await files.list('.'), []);
  // U+10000 sorts before U+FF61 by UTF-16 units, and after it by bytes.
  const sorted = ['.hidden', '0', 'B', 'a', 'a.txt', 'aa', 'é', '\uff61', '\u{10000}'];
  for (const name of sorted.toReversed()) await files.append(name, bytes('x'));
  assert.deepEqual(await files.list(''), sorted);
}

async function listFails({ files }: FilesSubject): Promise<void> {
  await files.append('file', bytes('x'));
  await assert.rejects(files.list('none'), { code: 'not-found' });
  await assert.rejects(files.list('file'), { code: 'invalid-argument' });
}

async function makeDirectories({ files }: FilesSubject): Promise<void> {
  await files.makeDir('a/b/c');
  await files.makeDir('a/b/c');
  await files.makeDir('a/b/d');
  await files.makeDir('.');
  assert.deepEqual(await files.list('a/b'), ['c', 'd']);
  await files.append('a/b/c/file', bytes('x'));
  assert.deepEqual(await files.list('a/b/c'), ['file']);
}

async function makeDirOverFile({ files }: FilesSubject): Promise<void> {
  await files.append('file', bytes('x'));
  await assert.rejects(files.makeDir('file'), (thrown: { code?: unknown }) =>
    ['conflict', 'invalid-argument'].includes(String(thrown.code)),
  );
  await assert.rejects(files.makeDir('file/below'), { code: 'invalid-argument' });
}

async function renameReplaces({ files }: FilesSubject): Promise<void> {
  await files.append('new', bytes('new content'));
  await files.append('old', bytes('old'));
  const before = await files.stat('new');
  await files.rename('new', 'old');
  assert.deepEqual(await files.list('.'), ['old']);
  assert.equal(text(await files.readAt('old', 0, 100)), 'new content');
  assert.equal((await files.stat('old'))?.inode, before?.inode);
  await files.append('old', bytes('!'));
  assert.equal(text(await files.readAt('old', 0, 100)), 'new content!');
}

async function renameMoves({ files }: FilesSubject): Promise<void> {
  await files.makeDir('from/deep');
  await files.makeDir('to');
  await files.append('from/deep/file', bytes('x'));
  await files.rename('from/deep', 'to/moved');
  assert.deepEqual(await files.list('from'), []);
  assert.equal(text(await files.readAt('to/moved/file', 0, 1)), 'x');
}

async function renameMissing({ files }: FilesSubject): Promise<void> {
  await files.append('file', bytes('x'));
  await assert.rejects(files.rename('none', 'other'), { code: 'not-found' });
  await assert.rejects(files.rename('file', 'none/other'), { code: 'not-found' });
  assert.deepEqual(await files.list('.'), ['file']);
}

async function removeTakes({ files }: FilesSubject): Promise<void> {
  await files.makeDir('directory');
  await files.append('directory/file', bytes('x'));
  await files.remove('directory/file');
  await files.remove('directory');
  assert.deepEqual(await files.list('.'), []);
  await files.append('again', bytes('1'));
  await files.remove('again');
  await files.append('again', bytes('2'));
  assert.equal(text(await files.readAt('again', 0, 10)), '2');
}

async function removeFails({ files }: FilesSubject): Promise<void> {
  await files.makeDir('directory');
  await files.append('directory/file', bytes('x'));
  await assert.rejects(files.remove('none'), { code: 'not-found' });
  await assert.rejects(files.remove('directory'), { code: 'conflict' });
  assert.deepEqual(await files.list('directory'), ['file']);
}

async function pathsStayInside({ files }: FilesSubject): Promise<void> {
  const refused = { code: 'invalid-argument' };
  await files.makeDir('a');
  for (const path of ['..', '../x', 'a/../../x', 'a/..', '/etc/passwd', '/', 'a\0b']) {
    await assert.rejects(async () => files.readAt(path, 0, 1), refused, path);
    await assert.rejects(async () => files.append(path, bytes('x')), refused, path);
    await assert.rejects(async () => files.sync(path), refused, path);
    await assert.rejects(async () => files.syncDir(path), refused, path);
    await assert.rejects(async () => files.list(path), refused, path);
    await assert.rejects(async () => files.stat(path), refused, path);
    await assert.rejects(async () => files.remove(path), refused, path);
    await assert.rejects(async () => files.makeDir(path), refused, path);
    await assert.rejects(async () => files.rename('a', path), refused, path);
    await assert.rejects(async () => files.rename(path, 'b'), refused, path);
  }
  assert.deepEqual(await files.list('.'), ['a']);
}

async function pathSpellings({ files }: FilesSubject): Promise<void> {
  await files.makeDir('a//b/');
  await files.append('./a/b/./file', bytes('x'));
  assert.equal((await files.stat('a/b/file'))?.bytes, 1);
  assert.deepEqual(await files.list('a/./b//'), ['file']);
}
