// Names the key that another program uses for something else. Redis only reports that there is one, and until
// it is removed nothing of its seed or tracker is shared.
import { SynclineError } from '@syncline/kernel';
import { text } from './redis-reply.js';

export interface WrongTypeDeps {
  call(command: string, args: readonly string[]): Promise<unknown>;
}

/** The error to throw instead of an error of a script with these keys: unchanged, if it is not about their types. */
export async function namingWrongType(
  deps: WrongTypeDeps,
  keys: readonly string[],
  error: SynclineError,
): Promise<SynclineError> {
  if (!error.message.includes('WRONGTYPE')) return error;
  for (const key of keys) {
    const found = text(await deps.call('TYPE', [key])) ?? 'none';
    const wanted = typeOf(key);
    if (found === 'none' || found === wanted) continue;
    return new SynclineError(
      'unavailable',
      `the key ${key} in Redis is a ${found}, where fair keeps a ${wanted}: another program wrote it, so nothing is shared there. Delete the key (DEL '${key}'), or use a separate Redis for fair.`,
      { retryable: false, cause: error, details: { key } },
    );
  }
  return error;
}

function typeOf(key: string): string {
  const name = key.slice(key.lastIndexOf(':') + 1);
  if (name === 'rows' || name === 'seeds') return 'set';
  if (name === 'clients' || name === 'instances') return 'zset';
  return name === 'epoch' || name === 'config' || name === 'active' ? 'string' : 'hash';
}
