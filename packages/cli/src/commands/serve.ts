// `syncline serve`: runs one node in this process until it is stopped. The server is loaded only if its
// configuration is valid, so that a typo is reported in a third of the time.
import { loadConfig } from '@syncline/server/config';
import type { Command } from 'commander';
import type { CliWorld } from '../cli-world.js';
import { addExamples } from '../examples.js';
import { addSettingFlags, settingFlags } from '../setting-flags.js';

export function fillServeCommand(command: Command, world: CliWorld): void {
  addExamples(command, [
    ['syncline serve', 'on loopback, data in ./syncline-data'],
    ['syncline serve --memory --http-port 0', 'no disk, any free port'],
    ['syncline serve --config syncline.toml', 'settings from a file'],
  ]);
  command.option('--config <file>', 'TOML file with settings');
  addSettingFlags(command).action((options: Readonly<Record<string, unknown>>) =>
    serve(world, options),
  );
}

async function serve(world: CliWorld, options: Readonly<Record<string, unknown>>): Promise<void> {
  world.makeNewFilesPrivate(); // the mode of LevelDB's files depends on the umask
  const file = typeof options['config'] === 'string' ? options['config'] : undefined;
  const loaded = loadConfig({
    ...(file === undefined ? {} : { file }),
    flags: settingFlags(options),
    environment: world.environment,
  });
  const [{ createSlices }, { runNode }] = await Promise.all([
    import('@syncline/server'),
    import('../serve/run-node.js'),
  ]);
  await runNode(world, { ...loaded, file, slices: createSlices() });
}
