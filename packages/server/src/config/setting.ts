// How one setting is declared: a zod schema for its value, with its documentation beside it.
//
// The declaration is the single source. Its place in the schema gives the TOML key and the name of
// the environment variable; default, range, help and flag are declared here; docs/CONFIG.md, `config show`,
// the flags of `serve` and every error text are made from it.
import { z } from 'zod';
import { DURATION } from './duration.js';

export interface SettingDescription {
  /** Effect, unit and trade-off, in one to three sentences. */
  readonly help: string;
  /** The flag of `serve` in commander's notation, if it has one: `--http-port <port>`. */
  readonly flag?: string;
  /** The environment variable, where it is not derived from the key. */
  readonly env?: string;
}

export interface SettingMeta extends SettingDescription {
  /** What is allowed, in words that end an error: `an integer from 0 to 65535`. */
  readonly allowed: string;
  /** From the text of a flag or variable to a value for the schema, which then checks it. */
  readonly parse: (text: string) => unknown;
  /** A list is separated by commas in a variable, and its flag may be repeated. */
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

export function booleanSetting(byDefault: boolean, description: SettingDescription) {
  return z
    .boolean()
    .default(byDefault)
    .register(settingMeta, {
      ...description,
      allowed: 'true or false',
      parse: (text) => (text === 'true' ? true : text === 'false' ? false : text),
      isList: false,
    });
}

export function textSetting(byDefault: string, description: SettingDescription) {
  return z
    .string()
    .min(1)
    .default(byDefault)
    .register(settingMeta, {
      ...description,
      allowed: 'a non-empty string',
      parse: (text) => text,
      isList: false,
    });
}

export function choiceSetting<const T extends readonly [string, ...string[]]>(
  choices: T,
  byDefault: T[number],
  description: SettingDescription,
) {
  const schema = z.enum(choices).default(byDefault as z.util.NoUndefined<T[number]>);
  return schema.register(settingMeta, {
    ...description,
    allowed: `one of ${choices.join(', ')}`,
    parse: (text) => text,
    isList: false,
  });
}

/** A text that `parseDuration` reads. */
export function durationSetting(byDefault: string, description: SettingDescription) {
  return z
    .string()
    .regex(DURATION)
    .default(byDefault)
    .register(settingMeta, {
      ...description,
      allowed: 'an integer with s, min, h or d, such as 90s or 7d; or never',
      parse: (text) => text,
      isList: false,
    });
}

/** A text, or nothing. */
export function optionalTextSetting(
  description: SettingDescription & { readonly allowed: string },
) {
  return z
    .string()
    .min(1)
    .optional()
    .register(settingMeta, { ...description, parse: (text) => text, isList: false });
}

/** The name of a file, or nothing. */
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
