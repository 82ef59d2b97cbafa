// `syncline config show`: the effective settings, and where each came from.
import { SynclineError } from '@syncline/kernel';
import { createSlices, usedListeners } from '@syncline/server';
import {
  type ConfigSources,
  checkListenHost,
  loadConfig,
  loadSettings,
} from '@syncline/server/config';
import type { Command } from 'commander';
import { type CliWorld, say } from '../cli-world.js';
import { configFacts } from '../config/config-facts.js';
import { renderConfigJson, renderConfigToml } from '../config/render-config.js';
import { addExamples } from '../examples.js';
import { paintFor } from '../paint.js';
import { addSettingFlags, settingFlags } from '../setting-flags.js';

export function fillConfigCommand(config: Command, world: CliWorld): void {
  const show = config.command('show').description('Print the effective settings as TOML');
  addExamples(show, [
    ['syncline config show --origin', 'with the source of each value'],
    ['syncline config show --config syncline.toml', 'what "serve" would run with'],
    ['syncline config show --json', 'for scripts'],
  ]);
  show
    .option('--origin', 'Show the source of each value')
    .option('--json', 'Print JSON')
    .option('--config <file>', 'TOML file with settings');
  addSettingFlags(show).action((options: Readonly<Record<string, unknown>>) =>
    showConfig(world, options),
  );
}

async function showConfig(
  world: CliWorld,
  options: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { config: file, json, origin } = options;
  const { stdout, environment } = world;
  const sources = {
    ...(typeof file === 'string' ? { file } : {}),
    flags: settingFlags(options),
    environment,
  };
  const { list } = loadSettings(sources);
  const facts = configFacts(list, environment);
  const withOrigin = origin === true;
  const paint = paintFor(stdout, environment);
  const render = json === true ? renderConfigJson : renderConfigToml;
  stdout.write(render(facts, { withOrigin, paint }));
  await tryToServe(world, sources);
}

/** Runs after the settings are printed, so that they are shown even if "serve" would refuse them. */
async function tryToServe(world: CliWorld, sources: ConfigSources): Promise<void> {
  try {
    const { config, warnings } = loadConfig(sources);
    const exposed = await checkListenHost(config, usedListeners(createSlices(), config));
    const all = exposed === undefined ? warnings : [...warnings, exposed];
    for (const warning of all) say(world, `Warning: ${warning}`);
  } catch (thrown) {
    if (!(thrown instanceof SynclineError)) throw thrown;
    const message = `"serve" would not start: ${thrown.message}`;
    throw new SynclineError(thrown.code, message, { cause: thrown });
  }
}
