import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, stat, symlink } from 'node:fs/promises';
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
      `cannot read ${subject.root}/none: no such file or directory. Check its name.`,
    );
    expect(error.details).toEqual({ path: `${subject.root}/none`, errno: 'ENOENT' });
  });

  it('refuses a pipe without a writer, and a device, instead of waiting or reading nothing', async () => {
    await using subject = await createRoot();
    execFileSync('mknod', [join(subject.root, 'pipe'), 'p']);
    await symlink('/dev/zero', join(subject.root, 'device'));
    const refused = { code: 'invalid-argument', message: expect.stringContaining('a pipe or') };
    for (const path of ['pipe', 'device'])
      await expect(subject.files.readAt(path, 0, 1)).rejects.toMatchObject(refused);
  });

  it('reads a directory through a symbolic link, and removes only the link', async () => {
    await using subject = await createRoot();
    await subject.files.makeDir('real');
    await symlink('real', join(subject.root, 'link'));
    expect((await subject.files.stat('link'))?.kind).toBe('directory');
    await subject.files.remove('link');
    expect(await subject.files.list('.')).toEqual(['real']);
  });

  it('K35 files and directories are created for their owner only', async () => {
    await using subject = await createRoot();
    const { files, root } = subject;
    await files.makeDir('a/b');
    await files.append('a/appended', new Uint8Array(1));
    await files.openAppend('a/opened').close();
    const modeOf = async (path: string) => (await stat(join(root, path))).mode & 0o777;
    expect(await modeOf('a')).toBe(0o700);
    expect(await modeOf('a/b')).toBe(0o700);
    expect(await modeOf('a/appended')).toBe(0o600);
    expect(await modeOf('a/opened')).toBe(0o600);
  });

  it('K34 any error of a write other than a full disk is storage-failed', async () => {
    await using subject = await createRoot();
    await symlink('/dev/full', join(subject.root, 'full'));
    const full = subject.files.openAppend('full');
    const noRoom = { code: 'storage-full', outcome: 'not-applied' };
    expect(() => full.append([new Uint8Array(1)])).toThrow(expect.objectContaining(noRoom));
    expect(() => full.truncate(0)).toThrow(
      expect.objectContaining({ code: 'storage-failed', outcome: 'unknown' }), // EINVAL
    );
    await full.close();
    await symlink('/proc/self/clear_refs', join(subject.root, 'refusing')); // takes only a number
    const refusing = subject.files.openAppend('refusing');
    expect(() => refusing.append([new Uint8Array(1)])).toThrow(
      expect.objectContaining({ code: 'storage-failed', outcome: 'unknown' }),
    );
    await refusing.close();
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
