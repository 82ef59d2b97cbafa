import { expect, test } from 'vitest';
import { fileSystemError, writeError } from './file-system-error.js';

const problem = (errno: string) => ({
  action: 'append to',
  path: '/data/log',
  errno,
  cause: new Error(errno),
});

test.each(['ENOSPC', 'EDQUOT', 'EFBIG'])('K34 %s means that there is no room', (errno) => {
  const error = writeError({ ...problem(errno), outcome: 'unknown' });
  expect(error).toMatchObject({ code: 'storage-full', outcome: 'unknown', retryable: true });
});

test.each(['EIO', 'EROFS', 'EBADF', 'EPERM', 'EINVAL'])(
  'K34 %s fails a write permanently',
  (errno) => {
    const error = writeError(problem(errno));
    expect(error).toMatchObject({ code: 'storage-failed', outcome: 'unknown', retryable: false });
  },
);

test.each(['EMFILE', 'ENFILE'])('%s can be retried', (errno) => {
  expect(fileSystemError(problem(errno))).toMatchObject({ code: 'unavailable', retryable: true });
});

test('a message has the path, the reason and the next step', () => {
  expect(writeError(problem('EFBIG')).message).toBe(
    'cannot append to /data/log: the file has reached the maximum size. Raise the file size limit (ulimit -f).',
  );
});
