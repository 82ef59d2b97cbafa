// One node, from its configuration to its end: a signal, or a slice that cannot continue.
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

/** Resolves after a requested stop. Throws the error that ended the node otherwise. */
export async function runNode(world: CliWorld, options: NodeOptions): Promise<void> {
  const { config, list, file, slices } = options;
  const logger = createPinoLogger({ stream: world.stderr }, { level: config.log.level });
  for (const warning of options.warnings) logger.warn('configuration', { warning });
  const stopRequest = listenForStop(world);
  const hintSources = { settings: config, list, file, environment: world.environment };
  const announcer = new Announcer({ world, hintSources }, config);
  const deps = {
    clock: createSystemClock(),
    random: createSystemRandom(),
    logger,
    onListening: announcer.listening,
  };
  const server = await startServer(deps, config, slices).catch((thrown: unknown) => {
    throw explainStartFailure(thrown, config);
  });
  announcer.ready();
  world.reportStarted();
  const asked = stopRequest.then(({ event }) => {
    sayStopping(world, config.shutdown.graceMs);
    logger.info('stop requested', { because: event });
    return undefined;
  });
  const cause = await Promise.race([asked, server.failed]);
  const [failure] = (await server.stop()).failures;
  const error = cause ?? failure?.error;
  if (error !== undefined) throw error;
}
