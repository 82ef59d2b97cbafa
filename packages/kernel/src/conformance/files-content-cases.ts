// The content of a file: reading at an offset, appending, syncing.
//
// K30  An append adds at the end. Without room it leaves a prefix.
// K33  An error of a sync is final for its file.
import assert from 'node:assert/strict';
import type { FilesSubject } from './files-subject.js';
import { bytes, text } from './storage-samples.js';

export const fileContentCases = {
  'K30 an append creates the file, a second one adds to it': appendAdds,
  'an empty append creates an empty file': emptyAppend,
  'a read returns the bytes at its offset, and fewer at the end of the file': readAtPlace,
  'large content is read back completely': largeContent,
  'all byte values are read back': allByteValues,
  'reading a missing file is not-found': readMissing,
  'reading or appending to a directory is invalid-argument': directoryIsNoFile,
  'an offset that is not a non-negative integer is refused': badPlaces,
  'a sync of an existing file or directory resolves': syncResolves,
  'a sync of a missing path is not-found': syncMissing,
};

export const fullDiskFileCases = {
  'K30 an append on a full disk is storage-full and leaves a prefix': appendWithoutRoom,
};

export const failedSyncCases = {
  'K33 a failed sync is final, and its outcome unknown': failedSync,
};

async function appendAdds({ files }: FilesSubject): Promise<void> {
  await files.append('log', bytes('one,'));
  await files.append('log', bytes('two,'));
  await files.sync('log');
  await files.append('log', bytes('three'));
  assert.equal(text(await files.readAt('log', 0, 100)), 'one,two,three');
  assert.equal((await files.stat('log'))?.bytes, 13);
}

async function emptyAppend({ files }: FilesSubject): Promise<void> {
  await files.append('empty', new Uint8Array());
  assert.equal((await files.stat('empty'))?.bytes, 0);
  assert.equal((await files.readAt('empty', 0, 10)).length, 0);
}

async function readAtPlace({ files }: FilesSubject): Promise<void> {
  await files.append('file', bytes('0123456789'));
  for (const [offset, length, expected] of [
    [0, 10, '0123456789'],
    [0, 3, '012'],
    [4, 3, '456'],
    [8, 5, '89'],
    [10, 5, ''],
    [50, 5, ''],
    [3, 0, ''],
    [0, 1_000_000, '0123456789'],
  ] as const) {
    assert.equal(text(await files.readAt('file', offset, length)), expected);
  }
}

async function largeContent({ files }: FilesSubject): Promise<void> {
  const content = new Uint8Array(3 * 1024 * 1024);
  for (let index = 0; index < content.length; index += 1) content[index] = index % 253;
  await files.append('large', content);
  assert.ok(Buffer.from(content).equals(await files.readAt('large', 0, content.length)));
  const part = await files.readAt('large', 1_000_001, 100);
  assert.deepEqual(Array.from(part), Array.from(content.subarray(1_000_001, 1_000_101)));
}

async function allByteValues({ files }: FilesSubject): Promise<void> {
  const all = Uint8Array.from({ length: 256 }, (_, index) => index);
  await files.append('all', all.subarray(0, 100));
  await files.append('all', all.subarray(100));
  assert.deepEqual(Array.from(await files.readAt('all', 0, 256)), Array.from(all));
}

async function readMissing({ files }: FilesSubject): Promise<void> {
  await assert.rejects(files.readAt('none', 0, 1), { code: 'not-found' });
  await assert.rejects(files.append('none/file', bytes('x')), { code: 'not-found' });
}

async function directoryIsNoFile({ files }: FilesSubject): Promise<void> {
  await files.makeDir('directory');
  await assert.rejects(files.readAt('directory', 0, 1), { code: 'invalid-argument' });
  await assert.rejects(files.append('directory', bytes('x')), { code: 'invalid-argument' });
}

async function badPlaces({ files }: FilesSubject): Promise<void> {
  await files.append('file', bytes('x'));
  for (const bad of [-1, 0.5, Number.NaN]) {
    await assert.rejects(files.readAt('file', bad, 1), { code: 'invalid-argument' });
    await assert.rejects(files.readAt('file', 0, bad), { code: 'invalid-argument' });
  }
}

async function syncResolves({ files }: FilesSubject): Promise<void> {
  await files.makeDir('directory');
  await files.append('directory/file', bytes('x'));
  await files.sync('directory/file');
  await files.syncDir('directory');
  await files.syncDir('.');
}

async function syncMissing({ files }: FilesSubject): Promise<void> {
  await assert.rejects(files.sync('none'), { code: 'not-found' });
  await assert.rejects(files.syncDir('none'), { code: 'not-found' });
}

async function appendWithoutRoom(subject: FilesSubject): Promise<void> {
  const { files } = subject;
  await files.append('log', bytes('before'));
  await subject.fillDisk?.();
  const large = new Uint8Array(1024 * 1024).fill(1);
  const full = { code: 'storage-full', retryable: true };
  await assert.rejects(files.append('log', large), full);
  const length = (await files.stat('log'))?.bytes ?? 0;
  assert.ok(length >= 6 && length < 6 + large.length, `${length} bytes are there`);
  await subject.freeDisk?.();
  await files.append('log', bytes('after'));
  const content = await files.readAt('log', 0, length + 100);
  assert.equal(text(content.subarray(0, 6)), 'before');
  assert.ok(content.subarray(6, length).every((byte) => byte === 1));
  assert.equal(text(content.subarray(length)), 'after');
}

async function failedSync(subject: FilesSubject): Promise<void> {
  const { files } = subject;
  await files.append('file', bytes('x'));
  await subject.breakDisk?.();
  await assert.rejects(files.sync('file'), { code: 'storage-failed', outcome: 'unknown' });
  await assert.rejects(files.sync('file'), { code: 'storage-failed', retryable: false });
}
