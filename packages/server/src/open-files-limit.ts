// Checks the limit of open files at startup: refuses to start if it is too low for the server itself, and warns if
// it is too low for the configured number of connections.
//
// Without file descriptors, new connections are dropped, checkpoints wait, and LevelDB fails permanently. Node
// already raises the soft limit to the hard one, so only an administrator can raise it further.
import { readFileSync } from 'node:fs';
import { type Logger, SynclineError } from '@syncline/kernel';
import type { ServerConfig } from './config/server-config.js';
import type { ListenerName } from './listener.js';

/** For logs, checkpoints, LevelDB tables and Node itself. */
const OWN_FILES = 256;
const LIMITS_PATH = '/proc/self/limits';

export function checkOpenFilesLimit(
  deps: { readonly logger: Logger },
  config: ServerConfig,
  listeners: readonly ListenerName[],
  limits = readLimits(),
): void {
  const openFilesMax = parseOpenFilesMax(limits);
  const needed = listeners.reduce((sum, name) => sum + config[name].connectionsMax, OWN_FILES);
  if (openFilesMax === undefined || openFilesMax >= needed) return;
  if (openFilesMax < OWN_FILES) {
    const message = `this process may open only ${openFilesMax} files, but a server needs ${OWN_FILES} for itself. Raise the limit: "ulimit -n 4096", or LimitNOFILE= in a systemd unit.`;
    throw new SynclineError('limit-exceeded', message, { details: { openFilesMax } });
  }
  const warning =
    `this process may open ${openFilesMax} files, but its connections may need ${needed}. ` +
    'Raise the limit (ulimit -n), or lower resp.connections_max.';
  deps.logger.warn('configuration warning', { warning, openFilesMax });
}

/** Undefined if there is no limit, or if it is unknown. */
function parseOpenFilesMax(limits: string): number | undefined {
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? undefined : Number(soft);
}

/** Empty on systems other than Linux, which do not have this file. */
function readLimits(): string {
  try {
    return readFileSync(LIMITS_PATH, 'utf8');
  } catch {
    return '';
  }
}
