import { SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { readError } from './job-channel.js';

test('the outcome of a read is never unknown', () => {
  const error = new SynclineError('unavailable', 'Connection dropped', { outcome: 'unknown' });
  expect(readError(error)).toMatchObject({ code: 'unavailable', outcome: 'not-applied' });
});
