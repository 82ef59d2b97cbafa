// `syncline serve`: one node in this process, until a signal.
import { createSystemClock, createSystemRandom } from '@syncline/kernel';
import { createPinoLogger, loadConfig, startServer } from '@syncline/server';
import type { Command } from 'commander';
import { type CliWorld, say } from '../cli-world.js';
import { addExamples } from '../examples.js';
import { Announcer } from '../serve/announcer.js';
import { explainStartFailure } from '../serve/start-failure.js';
import { listenForStop } from '../serve/stop-request.js';
import { addSettingFlags, settingFlags } from '../setting-flags.js';

export function addServeCommand(program: Command, world: CliWorld): void {
  const command = program.command('serve').description('Run one node until it is stopped');
  addExamples(command, [
    ['syncline serve', 'on loopback, data in ./syncline-data'],
    ['syncline serve --memory --http-port 0', 'nothing on disk, a free port'],
    ['syncline serve --config syncline.toml', 'settings from a file, see "syncline config show"'],
  ]);
  command.option('--config <file>', 'TOML file with settings');
  addSettingFlags(command).action((options: Readonly<Record<string, unknown>>) =>
    serve(world, options),
  );
}

async function serve(world: CliWorld, options: Readonly<Record<string, unknown>>): Promise<void> {
  const { config: file } = options;
  const { config, warnings } = loadConfig({
    ...(typeof file === 'string' ? { file } : {}),
    flags: settingFlags(options),
    environment: world.environment,
  });
  const logger = createPinoLogger({ stream: world.stderr }, { level: config.log.level });
  for (const warning of warnings) logger.warn('configuration', { warning });
  const stopRequest = listenForStop(world);
  const announcer = new Announcer({ world }, config);
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
  if (world.stderr.isTTY === true) say(world, stoppingText(config.shutdown.graceMs));
  logger.info('stop requested', { because: event });
  const [failure] = (await server.stop()).failures;
  if (failure !== undefined) throw failure.error;
}

function stoppingText(graceMs: number): string {
  return `\nStopping, within ${graceMs / 1000} s. Once more ends it at once.`;
}
