// Errors of the checkpoint store, with what the user of a pipeline can do about them.
import { type Files, SynclineError } from '@syncline/kernel';
import { listSavepoints } from '../store/savepoint.js';

/** Names the directory that the user passed, not the store in it: another directory would start over. */
export function explainLocked(thrown: unknown, dir: string | undefined): unknown {
  if (!(thrown instanceof SynclineError) || thrown.code !== 'locked' || dir === undefined)
    return thrown;
  const holder = thrown.details['holder'] as HolderDetails | undefined;
  const who =
    holder?.pid === undefined
      ? 'another process'
      : `process ${holder.pid} on ${holder.host} since ${holder.startedAt}`;
  return new SynclineError('locked', `${dir} is in use by ${who}. Stop that process first.`, {
    details: thrown.details,
    cause: thrown,
  });
}

interface HolderDetails {
  readonly pid?: number;
  readonly host?: string;
  readonly startedAt?: string;
}

/** A store that cannot be read cannot be repaired here, so the error lists the savepoints that can be restored. */
export async function withSavepoints(
  thrown: unknown,
  { files, path }: { readonly files: Files; readonly path: (given: string) => string },
  dir: string | undefined,
  codes: readonly string[],
): Promise<unknown> {
  const isUnreadable = thrown instanceof SynclineError && codes.includes(thrown.code);
  if (!isUnreadable || dir === undefined) return thrown;
  const names = await listSavepoints(files, path(dir)).catch(() => []);
  const savepoints = names.map((name) => `${dir}/savepoints/${name}`);
  const advice =
    savepoints.length === 0
      ? 'There is no savepoint to restore from; use a backup of the directory.'
      : `These savepoints can be restored into a new directory: ${savepoints.join(', ')}.`;
  const what = thrown.message.replace(/\.$/, '');
  return new SynclineError(thrown.code, `${what}. Nothing was changed. ${advice}`, {
    details: { ...thrown.details, savepoints },
    cause: thrown,
  });
}
