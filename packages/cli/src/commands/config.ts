// `syncline config show`: the settings in force, and where each came from.
import { loadSettings } from '@syncline/server';
import type { Command } from 'commander';
import type { CliWorld } from '../cli-world.js';
import { configFacts } from '../config/config-facts.js';
import { renderConfigJson, renderConfigToml } from '../config/render-config.js';
import { addExamples } from '../examples.js';
import { paintFor } from '../paint.js';
import { addSettingFlags, settingFlags } from '../setting-flags.js';

export function addConfigCommand(program: Command, world: CliWorld): void {
  const config = program.command('config').description('Look at the configuration');
  const show = config.command('show').description('Print the settings in force, as TOML');
  addExamples(show, [
    ['syncline config show --origin', 'and where each value came from'],
    ['syncline config show --config syncline.toml', 'what "serve" would run with'],
    ['syncline config show --json', 'for a program'],
  ]);
  show
    .option('--origin', 'Say where each value came from')
    .option('--json', 'Print JSON')
    .option('--config <file>', 'TOML file with settings');
  addSettingFlags(show).action((options: Readonly<Record<string, unknown>>) =>
    showConfig(world, options),
  );
}

function showConfig(world: CliWorld, options: Readonly<Record<string, unknown>>): void {
  const { config: file, json, origin } = options;
  const { stdout, environment } = world;
  const { list } = loadSettings({
    ...(typeof file === 'string' ? { file } : {}),
    flags: settingFlags(options),
    environment,
  });
  const facts = configFacts(list, environment);
  const withOrigin = origin === true;
  const paint = paintFor(stdout, environment);
  const render = json === true ? renderConfigJson : renderConfigToml;
  stdout.write(render(facts, { withOrigin, paint }));
}
