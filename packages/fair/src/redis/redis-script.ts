// A Lua script with the name that Redis knows it by. Calls send the name; the text goes out only when
// Redis has forgotten it (NOSCRIPT), after a restart, a failover or SCRIPT FLUSH.
import { createHash } from 'node:crypto';

export interface RedisScript {
  readonly text: string;
  /** What EVALSHA takes. */
  readonly sha1: string;
}

export function defineScript(text: string): RedisScript {
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}
