// Merges the sources (flags override the environment, which overrides the file, which overrides the defaults),
// checks every value, and records where each came from. It does no I/O.
import { assert } from '@syncline/kernel';
import { invalidValueError, type ResolvedList, type ResolvedSetting } from './resolved-setting.js';
import { SETTING_LIST, type SettingEntry } from './setting-list.js';
import { checkCombinations, chooseDataLocation } from './setting-rules.js';
import { type Environment, parseSettingsEnvironment } from './settings-environment.js';
import { parseSettingsFile } from './settings-file.js';
import { type ServerSettings, settingsSchema } from './settings-schema.js';

/** A string, the strings of a repeated flag, or `true` for a flag without a value. */
export type FlagValue = string | readonly string[] | true;

export interface SettingSources {
  /** By key: `http.port` to `'7500'`. */
  readonly flags: ReadonlyMap<string, FlagValue>;
  readonly environment: Environment;
  readonly file: { readonly name: string; readonly text: string } | undefined;
}

export interface ResolvedSettings {
  readonly settings: ServerSettings;
  readonly list: ResolvedList;
}

export function resolveSettings(sources: SettingSources): ResolvedSettings {
  const { file, flags } = sources;
  const fromFile = file === undefined ? undefined : parseSettingsFile(file.text, file.name);
  const fromEnvironment = parseSettingsEnvironment(sources.environment);
  const found = SETTING_LIST.map((entry): ResolvedSetting => {
    const { key, env } = entry;
    const given = flags.get(key);
    if (given !== undefined && entry.flag !== undefined)
      return { entry, value: flagValue(entry, given), origin: { kind: 'flag', flag: entry.flag } };
    if (fromEnvironment.has(key)) {
      const origin = { kind: 'environment', name: env } as const;
      return { entry, value: fromEnvironment.get(key), origin };
    }
    if (file !== undefined && fromFile?.has(key))
      return { entry, value: fromFile.get(key), origin: { kind: 'file', file: file.name } };
    return { entry, value: entry.defaultValue, origin: { kind: 'default' } };
  });
  const list = chooseDataLocation(found);
  const settings = check(list);
  checkCombinations(settings, list);
  return { settings: withoutSelf(settings), list };
}

function flagValue(entry: SettingEntry, given: FlagValue): unknown {
  return typeof given === 'string' ? entry.meta.parse(given) : given;
}

function check(list: ResolvedList): ServerSettings {
  const result = settingsSchema.safeParse(nest(list));
  if (result.success) return result.data;
  const path = result.error.issues[0]?.path ?? [];
  const setting = list.find(({ entry }) => entry.path.every((name, at) => path[at] === name));
  assert(setting !== undefined, 'only the value of a setting can be wrong');
  const { value } = setting;
  const item = path[setting.entry.path.length];
  throw invalidValueError(
    setting,
    Array.isArray(value) && typeof item === 'number' ? value[item] : value,
  );
}

/** Converts the flat list to nested objects, as the schema expects: `http.port` becomes `{ http: { port } }`. */
function nest(list: ResolvedList): Record<string, unknown> {
  const root: Record<string, unknown> = {};
  for (const { entry, value } of list) {
    let table = root;
    for (const section of entry.path.slice(0, -1)) {
      table[section] ??= {};
      table = table[section] as Record<string, unknown>;
    }
    table[entry.path.at(-1) ?? ''] = value;
  }
  return root;
}

/** All nodes may use the same list of peers, so this node's own entry is removed. */
function withoutSelf(settings: ServerSettings): ServerSettings {
  const peers = settings.mesh.peers.filter((peer) => peer.nodeId !== settings.nodeId);
  return { ...settings, mesh: { ...settings.mesh, peers } };
}
