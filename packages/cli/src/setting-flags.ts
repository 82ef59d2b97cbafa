// The flags of the settings: made from the server's list, and given back to it by key.
import { type FlagValue, SETTING_LIST, type SettingEntry } from '@syncline/server/config';
import { type Command, Option } from 'commander';

/** Adds a flag for each setting that has one; `wanted` may choose among them. */
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

function remark({ byDefault, meta }: SettingEntry): string {
  if (meta.isList) return ' (may be repeated)';
  return typeof byDefault === 'string' || typeof byDefault === 'number' ? ` (${byDefault})` : '';
}

function firstSentence(help: string): string {
  return help.replace(/\.(\s.*)?$/s, '');
}

/** What commander parsed, by the key of the setting. */
export function settingFlags(options: Readonly<Record<string, unknown>>): Map<string, FlagValue> {
  const flags = new Map<string, FlagValue>();
  for (const entry of SETTING_LIST) {
    if (entry.meta.flag === undefined) continue;
    const value = options[new Option(entry.meta.flag).attributeName()];
    if (value !== undefined) flags.set(entry.key, value as FlagValue);
  }
  return flags;
}
