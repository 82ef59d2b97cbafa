import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesSuite } from '../conformance/files-suite.js';
import { createSystemFiles } from './system-files.js';

async function createRoot() {
  const root = await mkdtemp(join(tmpdir(), 'syncline-files-'));
  return {
    root,
    files: createSystemFiles(root),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true }),
  };
}

describe('system files', () => {
  for (const { name, run } of filesSuite(createRoot)) it(name, run);

  it('names the path, the reason and a next step in its errors', async () => {
    await using subject = await createRoot();
    const error = await subject.files.readAt('none', 0, 1).catch((thrown) => thrown);
    expect(error.message).toBe(
      `cannot read ${subject.root}/none: there is nothing at this path. Check its name.`,
    );
    expect(error.details).toEqual({ path: `${subject.root}/none`, errno: 'ENOENT' });
  });

  it('reads a directory through a symbolic link, and removes only the link', async () => {
    await using subject = await createRoot();
    await subject.files.makeDir('real');
    await symlink('real', join(subject.root, 'link'));
    expect((await subject.files.stat('link'))?.kind).toBe('directory');
    await subject.files.remove('link');
    expect(await subject.files.list('.')).toEqual(['real']);
  });

  it('K33 a failed sync is final, and its outcome unknown', async () => {
    await using subject = await createRoot();
    await symlink('/proc/self/status', join(subject.root, 'unsyncable')); // its fsync is EINVAL
    const failed = { code: 'storage-failed', outcome: 'unknown', retryable: false };
    await expect(subject.files.sync('unsyncable')).rejects.toMatchObject(failed);
    const again = await subject.files.sync('unsyncable').catch((thrown) => thrown);
    expect(again).toMatchObject(failed);
    expect(again.message).toContain('an earlier sync failed');
  });
});
