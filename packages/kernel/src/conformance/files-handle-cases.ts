// Append handles: synchronous appends and cuts of one open file.
//
// K33 An error of a sync is final for its file. K34 An append adds all its parts to the end; without room it
// leaves a prefix that a cut removes.
import assert from 'node:assert/strict';
import type { Files } from '../files/files.js';
import type { FilesSubject } from './files-subject.js';
import { bytes, text } from './storage-samples.js';

export const fileHandleCases = {
  'K34 a handle appends its parts in order, after the existing content': appendParts,
  'K34 appends of every size and number of parts are complete': appendSizes,
  'the buffers of an append may be reused once it has returned': appendCopies,
  'a handle creates its file, empty': handleCreates,
  'a cut shortens the file, and appends continue from there': truncateCuts,
  'a cut to a length that is not below the file length is refused or changes nothing': badCuts,
  'after sync and close, a handle refuses everything': closedHandle,
  'a handle can be closed twice, and while it is synced': closeTwice,
  'two handles on two files do not mix': twoHandles,
  'a handle keeps its file through a rename': renamedHandle,
  'opening a directory, or a path below a missing one, fails as an append does': badHandles,
};

export const fullDiskHandleCases = {
  'K34 a handle on a full disk throws storage-full, and a cut removes the prefix':
    appendWithoutRoom,
};

export const failedHandleSyncCases = {
  'K33 a failed sync of a handle is final, and its outcome unknown': failedSync,
};

async function content(files: Files, path: string): Promise<string> {
  return text(await files.readAt(path, 0, 1_000_000)) ?? '';
}

async function appendParts({ files }: FilesSubject): Promise<void> {
  await files.append('log', bytes('zero,'));
  const handle = files.openAppend('log');
  assert.equal(handle.path, 'log');
  assert.equal(handle.length, 5);
  handle.append([bytes('one,'), bytes(''), bytes('two,')]);
  handle.append([]);
  handle.append([bytes('three')]);
  assert.equal(handle.length, 18);
  assert.equal(await content(files, 'log'), 'zero,one,two,three');
  await handle.close();
}

async function appendSizes({ files }: FilesSubject): Promise<void> {
  const handle = files.openAppend('log');
  const expected: Uint8Array[] = [];
  for (const [count, size] of [
    [1, 65_536],
    [2, 32_768],
    [3, 32_768],
    [1, 300_000],
    [2_500, 11],
    [2_500, 40],
  ] as const) {
    const parts = Array.from({ length: count }, (_, n) => new Uint8Array(size).fill(n + size));
    handle.append(parts);
    expected.push(...parts);
  }
  const whole = Buffer.concat(expected);
  assert.equal(handle.length, whole.length);
  assert.ok(whole.equals(await files.readAt('log', 0, whole.length + 1)));
  await handle.close();
}

async function appendCopies({ files }: FilesSubject): Promise<void> {
  const handle = files.openAppend('log');
  const reused = bytes('a');
  for (const letter of 'abc') {
    reused.set(bytes(letter));
    handle.append([reused, reused]);
  }
  assert.equal(await content(files, 'log'), 'aabbcc');
  await handle.close();
}

async function handleCreates({ files }: FilesSubject): Promise<void> {
  const handle = files.openAppend('new');
  assert.equal(handle.length, 0);
  assert.equal((await files.stat('new'))?.bytes, 0);
  await handle.close();
}

async function truncateCuts({ files }: FilesSubject): Promise<void> {
  const handle = files.openAppend('log');
  handle.append([bytes('0123456789')]);
  await handle.sync();
  handle.truncate(4);
  assert.equal(handle.length, 4);
  assert.equal(await content(files, 'log'), '0123');
  handle.append([bytes('abc')]);
  await handle.sync();
  assert.equal(await content(files, 'log'), '0123abc');
  handle.truncate(0);
  assert.equal(await content(files, 'log'), '');
  await handle.close();
}

async function badCuts({ files }: FilesSubject): Promise<void> {
  const handle = files.openAppend('log');
  handle.append([bytes('0123')]);
  for (const bad of [5, -1, 0.5, Number.NaN]) {
    assert.throws(() => handle.truncate(bad), { code: 'invalid-argument' });
  }
  handle.truncate(4);
  assert.equal(await content(files, 'log'), '0123');
  await handle.close();
}

async function closedHandle({ files }: FilesSubject): Promise<void> {
  const handle = files.openAppend('log');
  handle.append([bytes('x')]);
  await handle.sync();
  await handle.close();
  assert.throws(() => handle.append([bytes('y')]), { code: 'closed' });
  assert.throws(() => handle.truncate(0), { code: 'closed' });
  await assert.rejects(handle.sync(), { code: 'closed' });
  assert.equal(await content(files, 'log'), 'x');
}

async function closeTwice({ files }: FilesSubject): Promise<void> {
  const handle = files.openAppend('log');
  handle.append([bytes('x')]);
  await Promise.all([handle.sync(), handle.sync(), handle.close(), handle.close()]);
  await handle.close();
}

async function twoHandles({ files }: FilesSubject): Promise<void> {
  const one = files.openAppend('one');
  const two = files.openAppend('two');
  for (let n = 0; n < 3; n += 1) {
    one.append([bytes(`${n}`), bytes('-')]);
    two.append([bytes(`${n}`), bytes('+')]);
  }
  assert.equal(await content(files, 'one'), '0-1-2-');
  assert.equal(await content(files, 'two'), '0+1+2+');
  await Promise.all([one.close(), two.close()]);
}

async function renamedHandle({ files }: FilesSubject): Promise<void> {
  const handle = files.openAppend('old');
  handle.append([bytes('1')]);
  await files.rename('old', 'new');
  handle.append([bytes('2')]);
  await handle.sync();
  assert.equal(await content(files, 'new'), '12');
  await handle.close();
}

async function badHandles({ files }: FilesSubject): Promise<void> {
  await files.makeDir('directory');
  assert.throws(() => files.openAppend('directory'), { code: 'invalid-argument' });
  assert.throws(() => files.openAppend('none/log'), { code: 'not-found' });
  assert.throws(() => files.openAppend('../log'), { code: 'invalid-argument' });
}

async function appendWithoutRoom(subject: FilesSubject): Promise<void> {
  const { files } = subject;
  const handle = files.openAppend('log');
  handle.append([bytes('before')]);
  await subject.fillDisk?.();
  const large = new Uint8Array(1024 * 1024).fill(1);
  const full = { code: 'storage-full', outcome: 'unknown', retryable: true };
  assert.throws(() => handle.append([large]), full);
  const length = (await files.stat('log'))?.bytes ?? 0;
  assert.ok(length >= 6 && length < 6 + large.length, `the file has ${length} bytes`);
  handle.truncate(6);
  assert.equal(handle.length, 6);
  await subject.freeDisk?.();
  handle.append([bytes(', after')]);
  assert.equal(await content(files, 'log'), 'before, after');
  await handle.close();
}

async function failedSync(subject: FilesSubject): Promise<void> {
  const { files } = subject;
  const handle = files.openAppend('log');
  handle.append([bytes('x')]);
  await subject.breakDisk?.();
  await assert.rejects(handle.sync(), { code: 'storage-failed', outcome: 'unknown' });
  await assert.rejects(handle.sync(), { code: 'storage-failed', retryable: false });
  await assert.rejects(files.sync('log'), { code: 'storage-failed' });
  await handle.close();
}
