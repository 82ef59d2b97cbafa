// Runs one node until a signal arrives or a slice cannot continue.
import { createSystemClock, createSystemRandom } from '@syncline/kernel';
import { createPinoLogger, type Slice, startServer } from '@syncline/server';
import type { LoadedConfig } from '@syncline/server/config';
import type { CliWorld } from '../cli-world.js';
import { Announcer } from './announcer.js';
import { explainStartFailure } from './start-failure.js';
import { listenForStop } from './stop-request.js';
import { sayStopping } from './stopping-text.js';

export interface NodeOptions extends LoadedConfig {
  /** The value of `--config`. */
  readonly file: string | undefined;
  readonly slices: readonly Slice[];
}

/** Resolves after a requested stop. Otherwise throws the error that ended the node. */
export async function runNode(world: CliWorld, options: NodeOptions): Promise<void> {
  const { config, list, file, slices } = options;
  const logger = createPinoLogger({ stream: world.stderr }, { level: config.log.level });
  for (const warning of options.warnings) logger.warn('configuration warning', { warning });
  const stopRequest = listenForStop(world);
  const hintSources = { settings: config, list, file, environment: world.environment };
  const announcer = new Announcer({ world, hintSources }, config);
  const deps = {
    clock: createSystemClock(),
    random: createSystemRandom(),
    logger,
    onListening: announcer.listening,
  };
  const server = await startServer(deps, config, slices).catch(async (thrown: unknown) => {
    throw await explainStartFailure(thrown, config);
  });
  await announcer.ready();
  void server.ready.then(() => world.reportStarted());
  const requested = stopRequest.then(({ event }) => {
    sayStopping(world, config.shutdown.graceMs);
    logger.info('stop requested', { reason: event });
    return undefined;
  });
  const cause = await Promise.race([requested, server.failed]);
  const [failure] = (await server.stop()).failures;
  const error = cause ?? failure?.error;
  if (error !== undefined) throw error;
}
