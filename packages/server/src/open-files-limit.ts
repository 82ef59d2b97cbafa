// Warns at start when the process may open fewer files than the settings allow connections, and refuses to start
// with too few for the server itself.
//
// Without descriptors new connections are dropped, and files cannot be opened: checkpoints wait, and LevelDB
// fails permanently. Node raises the soft limit to the hard one itself, so the rest is up to the administrator.
import { readFileSync } from 'node:fs';
import { type Logger, SynclineError } from '@syncline/kernel';
import type { ServerConfig } from './config/server-config.js';
import type { ListenerName } from './listener.js';

/** Logs, checkpoints, tables of LevelDB, and what Node opens for itself. */
const OWN_FILES = 256;
const LIMITS_PATH = '/proc/self/limits';

export function warnOfFewOpenFiles(
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
  deps.logger.warn('configuration', { warning, openFilesMax });
}

/** Undefined when there is no limit or it is not known. */
function parseOpenFilesMax(limits: string): number | undefined {
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? undefined : Number(soft);
}

/** Empty where there is no such file: only Linux has it. */
function readLimits(): string {
  try {
    return readFileSync(LIMITS_PATH, 'utf8');
  } catch {
    return '';
  }
}
