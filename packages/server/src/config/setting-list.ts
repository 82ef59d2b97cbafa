// The settings as a flat list derived from the schema, each with its key, environment variable, flag and
// default. All code that reads, checks, shows or documents settings uses this list.

import { assert } from '@syncline/kernel';
import { z } from 'zod';
import { type SettingMeta, settingMeta } from './setting.js';
import { settingsSchema } from './settings-schema.js';

export interface SettingEntry {
  /** As in the TOML file: `tls.cert_file`. */
  readonly key: string;
  /** As in code: `['tls', 'certFile']`. */
  readonly path: readonly string[];
  /** As in the environment: `SYNCLINE_TLS_CERT_FILE`. */
  readonly env: string;
  /** As on the command line, without its argument: `--http-port`. */
  readonly flag: string | undefined;
  /** Undefined if there is no default. */
  readonly defaultValue: unknown;
  readonly meta: SettingMeta;
}

export const SETTING_LIST: readonly SettingEntry[] = listSettings(settingsSchema, []);

function listSettings(
  schema: z.ZodObject<z.core.$ZodShape>,
  path: readonly string[],
): SettingEntry[] {
  return Object.entries(schema.shape).flatMap(([name, part]) => {
    const place = [...path, name];
    return part instanceof z.ZodObject ? listSettings(part, place) : [entryOf(part, place)];
  });
}

function entryOf(schema: z.core.$ZodType, path: readonly string[]): SettingEntry {
  const key = path.map(snakeCase).join('.');
  const meta = settingMeta.get(schema);
  assert(meta !== undefined, `the setting ${key} is declared without a description`);
  return {
    key,
    path,
    env: meta.env ?? `SYNCLINE_${key.replaceAll('.', '_').toUpperCase()}`,
    flag: meta.flag?.split(' ')[0],
    defaultValue: schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined,
    meta,
  };
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
