import { expect, test } from 'vitest';
import { fileSystemError, writeError } from './file-system-error.js';

const problem = (errno: string) => ({
  action: 'append to',
  path: '/data/log',
  errno,
  cause: new Error(errno),
});

test.each(['ENOSPC', 'EDQUOT', 'EFBIG'])('K34 %s is want of room', (errno) => {
  const error = writeError({ ...problem(errno), outcome: 'unknown' });
  expect(error).toMatchObject({ code: 'storage-full', outcome: 'unknown', retryable: true });
});

test.each(['EIO', 'EROFS', 'EBADF', 'EPERM', 'EINVAL'])(
  'K34 %s fails a write for good',
  (errno) => {
    const error = writeError(problem(errno));
    expect(error).toMatchObject({ code: 'storage-failed', outcome: 'unknown', retryable: false });
  },
);

test.each(['EMFILE', 'ENFILE'])('%s can be tried again', (errno) => {
  expect(fileSystemError(problem(errno))).toMatchObject({ code: 'unavailable', retryable: true });
});

test('a message has the path, the reason and the next step', () => {
  expect(writeError(problem('EFBIG')).message).toBe(
    'cannot append to /data/log: the file is as large as it may be. Raise the file size limit (ulimit -f).',
  );
});
