// Command-line flags for settings, generated from the server's list of settings.
import { type FlagValue, SETTING_LIST, type SettingEntry } from '@syncline/server/config';
import { type Command, Option } from 'commander';

/** Adds the flag of each setting that has one and that `wanted` selects. */
export function addSettingFlags(
  command: Command,
  wanted: (entry: SettingEntry) => boolean = () => true,
): Command {
  for (const entry of SETTING_LIST.filter(wanted)) {
    if (entry.meta.flag !== undefined) command.addOption(optionOf(entry, entry.meta.flag));
  }
  return command;
}

function optionOf(entry: SettingEntry, flag: string): Option {
  const option = new Option(flag, `${firstSentence(entry.meta.help)}${remark(entry)}`);
  const append = (text: string, before: readonly string[] = []) => [...before, text];
  return entry.meta.isList ? option.argParser<readonly string[]>(append) : option;
}

function remark({ defaultValue, meta }: SettingEntry): string {
  if (meta.isList) return ' (may be repeated)';
  return typeof defaultValue === 'string' || typeof defaultValue === 'number'
    ? ` (${defaultValue})`
    : '';
}

function firstSentence(help: string): string {
  return help.replace(/\.(\s.*)?$/s, '');
}

/** The parsed flags, by the key of the setting. */
export function settingFlags(options: Readonly<Record<string, unknown>>): Map<string, FlagValue> {
  const flags = new Map<string, FlagValue>();
  for (const entry of SETTING_LIST) {
    if (entry.meta.flag === undefined) continue;
    const value = options[new Option(entry.meta.flag).attributeName()];
    if (value !== undefined) flags.set(entry.key, value as FlagValue);
  }
  return flags;
}
