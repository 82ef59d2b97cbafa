// A job whose metadata the server cannot read: it can be named and deleted, and nothing else.
import { SynclineError } from '@syncline/kernel';
import { printable } from '../printable.js';

export function damagedJobText(jobId: string): string {
  const name = printable(jobId);
  return `🔴 Job ${name} is damaged on the disk and cannot be shown. Restore a backup, or delete it: syncline jobs rm ${name}`;
}

/** For `catch`. */
export function undefinedIfDamaged(thrown: unknown): undefined {
  if (!(thrown instanceof SynclineError) || thrown.code !== 'corrupt') throw thrown;
}
