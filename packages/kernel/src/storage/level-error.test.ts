// Messages exactly as LevelDB 1.20 and classic-level 3.0.0 write them; most were seen in experiments.
import { describe, expect, it } from 'vitest';
import {
  errnoOfLevelText,
  isNoRoom,
  levelOpenError,
  levelReadError,
  levelWriteError,
} from './level-error.js';

describe('errnoOfLevelText', () => {
  it.each([
    ['IO error: /data/000003.log: No space left on device', 'ENOSPC'],
    ['IO error: /data/000005.ldb: No space left on device', 'ENOSPC'],
    ['IO error: /data/MANIFEST-000004: Disk quota exceeded', 'EDQUOT'],
    ['IO error: /data/MANIFEST-000004: Quota exceeded', 'EDQUOT'], // musl
    ['IO error: /data/000003.log: Input/output error', 'EIO'],
    ['IO error: /data/000003.log: I/O error', 'EIO'], // musl
    ['IO error: /data/LOCK: Read-only file system', 'EROFS'],
    ['IO error: /data/LOCK: Permission denied', 'EACCES'],
    ['IO error: /file/db/LOCK: Not a directory', 'ENOTDIR'],
    ['IO error: /data/000012.log: Too many open files', 'EMFILE'],
    ['IO error: /data/000012.log: File too large', undefined],
    ['Corruption: bad block contents', undefined],
    ['IO error: /mnt/No space left on device/000003.log: Input/output error', 'EIO'],
  ])('%s is %s', (message, errno) => {
    expect(errnoOfLevelText(message)).toBe(errno);
  });
});

describe('isNoRoom', () => {
  it('K16 only a full disk or an exhausted quota counts as a lack of space', () => {
    expect(isNoRoom(new Error('IO error: /d/000003.log: No space left on device'))).toBe(true);
    expect(isNoRoom(new Error('IO error: /d/000003.log: Disk quota exceeded'))).toBe(true);
    expect(isNoRoom(new Error('IO error: /d/000003.log: Input/output error'))).toBe(false);
    expect(isNoRoom(new Error('IO error: /d/000003.log: File too large'))).toBe(false);
    expect(isNoRoom('No space')).toBe(false);
  });
});

describe('levelOpenError', () => {
  const wrapped = (code: string, message: string) =>
    new Error('Database failed to open', { cause: Object.assign(new Error(message), { code }) });

  it.each([
    ['LEVEL_LOCKED', 'IO error: lock /d/LOCK: Resource temporarily unavailable', 'locked'],
    ['LEVEL_LOCKED', 'IO error: lock /d/LOCK: already held by process', 'locked'],
    ['LEVEL_LOCKED', 'IO error: lock /d/LOCK: No locks available', 'storage-failed'],
    ['LEVEL_CORRUPTION', 'Corruption: 1 missing files; e.g.: /d/000005.ldb', 'corrupt'],
    ['LEVEL_IO_ERROR', 'IO error: /d/MANIFEST-000004: No such file or directory', 'corrupt'],
    ['LEVEL_IO_ERROR', 'IO error: /d/LOCK: No such file or directory', 'not-found'],
    ['LEVEL_IO_ERROR', 'IO error: /d/000007.ldb: No space left on device', 'storage-full'],
    ['LEVEL_IO_ERROR', 'IO error: /d/LOCK: Read-only file system', 'invalid-argument'],
    ['LEVEL_IO_ERROR', 'IO error: /d/000003.log: Too many open files', 'unavailable'],
    ['LEVEL_IO_ERROR', 'IO error: /d/CURRENT: Input/output error', 'storage-failed'],
    ['ENOTDIR', "ENOTDIR: not a directory, mkdir '/file/db'", 'invalid-argument'],
    ['EACCES', "EACCES: permission denied, mkdir '/root/db'", 'invalid-argument'],
  ])('%s, %s is %s', (code, message, expected) => {
    const error = levelOpenError(wrapped(code, message), '/d');
    expect(error.code).toBe(expected);
    expect(error.message).toContain('/d');
  });

  it('of a full disk promises nothing about a process that could not start', () => {
    const thrown = wrapped('LEVEL_IO_ERROR', 'IO error: /d/000003.log: No space left on device');
    expect(levelOpenError(thrown, '/d').message).toBe(
      'cannot open the store in /d: no space left on the device. Free some space, then try again.',
    );
  });
});

describe('errors of reads and writes', () => {
  it('K17 the outcome of a failed write is unknown', () => {
    const error = levelWriteError(new Error('IO error: /d/000003.log: Input/output error'), '/d');
    expect(error).toMatchObject({ code: 'storage-failed', outcome: 'unknown', retryable: false });
    expect(error.message).toContain('Input/output error');
    expect(error.message).toContain("Check the disk and the system's log, then restart");
  });

  it('K17 a write that lacks file descriptors says which limit to raise', () => {
    const error = levelWriteError(new Error('IO error: /d/000003.log: Too many open files'), '/d');
    expect(error.message).toContain('Raise the limit of open files (ulimit -n), then restart');
  });

  it.each([
    ['IO error: /d/000005.ldb: Invalid argument', 'corrupt'],
    ['IO error: /d/000005.sst: No such file or directory', 'corrupt'],
    ['IO error: /d/000005.ldb: Too many open files', 'unavailable'],
    ['IO error: /d/000005.ldb: Too many open files in system', 'unavailable'],
    ['IO error: /d/000005.ldb: Input/output error', 'storage-failed'],
  ])('K18 a read that meets "%s" is %s', (message, code) => {
    expect(levelReadError(new Error(message), '/d').code).toBe(code);
  });

  it('K18 a damaged block is corrupt', () => {
    const damaged = Object.assign(new Error('Corruption: bad block contents'), {
      code: 'LEVEL_CORRUPTION',
    });
    expect(levelReadError(damaged, '/d').code).toBe('corrupt');
    expect(levelReadError(new Error('IO error: /d/5.ldb: I/O error'), '/d').code).toBe(
      'storage-failed',
    );
  });
});
