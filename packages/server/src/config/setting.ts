// The declaration of a setting: a zod schema for its value, together with its documentation.
//
// It is the single source of truth. The TOML key and the environment variable follow from its position in the
// schema; default, range, help and flag are part of it; and docs/CONFIG.md, `config show`, the flags of `serve`
// and every error message are generated from it.
import { z } from 'zod';
import { DURATION } from './duration.js';

export interface SettingDescription {
  /** Effect, unit and trade-off, in one to three sentences. */
  readonly help: string;
  /** The flag of `serve` in commander's notation, if it has one: `--http-port <port>`. */
  readonly flag?: string;
  /** The environment variable, if it is not the one derived from the key. */
  readonly env?: string;
}

export interface SettingMeta extends SettingDescription {
  /** The allowed values, as the end of an error message: `an integer from 0 to 65535`. */
  readonly allowed: string;
  /** Converts the text of a flag or variable to a value, which the schema then checks. */
  readonly parse: (text: string) => unknown;
  /** The items of a list are separated by commas in a variable; as a flag, it may be repeated. */
  readonly isList: boolean;
}

export const settingMeta = z.registry<SettingMeta>();

interface IntegerRange {
  readonly min: number;
  readonly max: number;
  readonly default: number;
}

export function integerSetting(range: IntegerRange, description: SettingDescription) {
  const schema = z.int().min(range.min).max(range.max).default(range.default);
  return schema.register(settingMeta, {
    ...description,
    allowed: `an integer from ${range.min} to ${range.max}`,
    parse: (text) => (/^-?\d+$/.test(text) ? Number(text) : text),
    isList: false,
  });
}

export function portSetting(port: number, description: SettingDescription) {
  return integerSetting({ min: 0, max: 65_535, default: port }, description);
}

export function booleanSetting(defaultValue: boolean, description: SettingDescription) {
  return z
    .boolean()
    .default(defaultValue)
    .register(settingMeta, {
      ...description,
      allowed: 'true or false',
      parse: (text) => (text === 'true' ? true : text === 'false' ? false : text),
      isList: false,
    });
}

export function textSetting(defaultValue: string, description: SettingDescription) {
  return z
    .string()
    .min(1)
    .default(defaultValue)
    .register(settingMeta, {
      ...description,
      allowed: 'a non-empty string',
      parse: (text) => text,
      isList: false,
    });
}

export function choiceSetting<const T extends readonly [string, ...string[]]>(
  choices: T,
  defaultValue: T[number],
  description: SettingDescription,
) {
  const schema = z.enum(choices).default(defaultValue as z.util.NoUndefined<T[number]>);
  return schema.register(settingMeta, {
    ...description,
    allowed: `one of ${choices.join(', ')}`,
    parse: (text) => text,
    isList: false,
  });
}

/** A duration in the format of `parseDuration`. */
export function durationSetting(defaultValue: string, description: SettingDescription) {
  return z
    .string()
    .regex(DURATION)
    .default(defaultValue)
    .register(settingMeta, {
      ...description,
      allowed: 'an integer with s, min, h or d, such as 90s or 7d; or never',
      parse: (text) => text,
      isList: false,
    });
}

/** A string that may be left unset. */
export function optionalTextSetting(
  description: SettingDescription & { readonly allowed: string },
) {
  return z
    .string()
    .min(1)
    .optional()
    .register(settingMeta, { ...description, parse: (text) => text, isList: false });
}

/** A file name that may be left unset. */
export function fileSetting(description: SettingDescription) {
  return z
    .string()
    .min(1)
    .optional()
    .register(settingMeta, {
      ...description,
      allowed: 'a file name',
      parse: (text) => text,
      isList: false,
    });
}

/** A list whose items are checked by `item`; empty by default. */
export function listSetting<T extends z.ZodType>(
  item: T,
  entriesMax: number,
  description: SettingDescription & { readonly allowedItem: string },
) {
  return z
    .array(item)
    .max(entriesMax)
    .default([])
    .register(settingMeta, {
      help: description.help,
      ...(description.flag === undefined ? {} : { flag: description.flag }),
      ...(description.env === undefined ? {} : { env: description.env }),
      allowed: `a list of at most ${entriesMax} items, each ${description.allowedItem}`,
      parse: (text) => text.split(',').map((part) => part.trim()),
      isList: true,
    });
}
