// Before a start creates a data directory: are the ports free? Otherwise a start that fails would leave an unwanted
// directory behind. With an existing directory, opening the listeners finds out soon enough.
import { stat } from 'node:fs/promises';
import { tryPort } from '@syncline/kernel/node';
import type { ServerConfig } from './config/server-config.js';
import type { ListenerName } from './listener.js';

/** Rejects as opening the listeners would. */
export async function checkPorts(
  config: ServerConfig,
  names: readonly ListenerName[],
): Promise<void> {
  if (config.memory || (await exists(config.dataDir))) return;
  for (const name of names) {
    const { port } = config[name];
    if (port !== 0) await tryPort({ host: config.listenHost, port });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (thrown: NodeJS.ErrnoException) => thrown.code !== 'ENOENT', // claiming it reports the rest
  );
}
