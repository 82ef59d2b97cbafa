// `syncline serve`: one node in this process, until a signal.
import { createSystemClock, createSystemRandom } from '@syncline/kernel';
import { createPinoLogger, loadConfig, startServer } from '@syncline/server';
import type { Command } from 'commander';
import type { CliWorld } from '../cli-world.js';
import { addExamples } from '../examples.js';
import { Announcer } from '../serve/announcer.js';
import { explainStartFailure } from '../serve/start-failure.js';
import { listenForStop } from '../serve/stop-request.js';
import { sayStopping } from '../serve/stopping-text.js';
import { addSettingFlags, settingFlags } from '../setting-flags.js';

export function fillServeCommand(command: Command, world: CliWorld): void {
  addExamples(command, [
    ['syncline serve', 'on loopback, data in ./syncline-data'],
    ['syncline serve --memory --http-port 0', 'nothing on disk, a free port'],
    ['syncline serve --config syncline.toml', 'settings from a file'],
  ]);
  command.option('--config <file>', 'TOML file with settings');
  addSettingFlags(command).action((options: Readonly<Record<string, unknown>>) =>
    serve(world, options),
  );
}

async function serve(world: CliWorld, options: Readonly<Record<string, unknown>>): Promise<void> {
  const { environment } = world;
  const file = typeof options['config'] === 'string' ? options['config'] : undefined;
  const { config, list, warnings } = loadConfig({
    ...(file === undefined ? {} : { file }),
    flags: settingFlags(options),
    environment,
  });
  const logger = createPinoLogger({ stream: world.stderr }, { level: config.log.level });
  for (const warning of warnings) logger.warn('configuration', { warning });
  const stopRequest = listenForStop(world);
  const hintSources = { settings: config, list, file, environment };
  const announcer = new Announcer({ world, hintSources }, config);
  const deps = {
    clock: createSystemClock(),
    random: createSystemRandom(),
    logger,
    onListening: announcer.listening,
  };
  const server = await startServer(deps, config, []).catch((thrown: unknown) => {
    throw explainStartFailure(thrown, config);
  });
  announcer.ready();
  world.reportStarted();
  const { event } = await stopRequest;
  sayStopping(world, config.shutdown.graceMs);
  logger.info('stop requested', { because: event });
  const [failure] = (await server.stop()).failures;
  if (failure !== undefined) throw failure.error;
}
