// A Lua script with its SHA-1 hash. Calls send the hash; the text is sent only when Redis does not have it
// (NOSCRIPT), after a restart, a failover or SCRIPT FLUSH.
import { createHash } from 'node:crypto';

export interface RedisScript {
  readonly text: string;
  /** The argument of EVALSHA. */
  readonly sha1: string;
}

export function defineScript(text: string): RedisScript {
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}
