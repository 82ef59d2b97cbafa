// Reads settings from the text of a TOML file. Only names are checked here: an unknown key is an error, because
// a mistyped limit that is silently ignored would be noticed too late.
import { SynclineError, suggestion } from '@syncline/kernel';
import { parse, TomlError } from 'smol-toml';
import { SECRET_LIST } from './secret-list.js';
import { SETTING_LIST } from './setting-list.js';

const KEYS: ReadonlySet<string> = new Set(SETTING_LIST.map((entry) => entry.key));
const SECTIONS: ReadonlySet<string> = new Set(
  [...KEYS].filter((key) => key.includes('.')).map((key) => key.slice(0, key.lastIndexOf('.'))),
);

/** Far deeper than any setting. Nesting beyond it could exhaust the stack of code that traverses it. */
const DEPTH_MAX = 16;

/** A message stays readable, whatever the file is. */
const SHOWN_LINE_MAX = 80;

export function parseSettingsFile(text: string, file: string): ReadonlyMap<string, unknown> {
  const values = new Map<string, unknown>();
  const root = parseToml(text, file);
  if (isDeeper(root, DEPTH_MAX)) throw tooDeep(file);
  collect(root, '', { file, values });
  return values;
}

function parseToml(text: string, file: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (thrown) {
    if (!(thrown instanceof TomlError)) throw thrown;
    const reason = thrown.message.split('\n')[0]?.replace('Invalid TOML document: ', '');
    const line = text.split('\n')[thrown.line - 1]?.trim() ?? '';
    const where = line === '' ? '' : ` in ${JSON.stringify(line.slice(0, SHOWN_LINE_MAX))}`;
    throw new SynclineError(
      'invalid-argument',
      `${file}:${thrown.line}:${thrown.column}: invalid TOML${where}: ${reason}`,
      { details: { file, line: thrown.line, column: thrown.column }, cause: thrown },
    );
  }
}

interface Collected {
  readonly file: string;
  readonly values: Map<string, unknown>;
}

function collect(table: Record<string, unknown>, prefix: string, into: Collected): void {
  for (const [name, value] of Object.entries(table)) {
    const key = prefix === '' ? name : `${prefix}.${name}`;
    if (KEYS.has(key)) into.values.set(key, value);
    else if (isTable(value) && (SECTIONS.has(key) || Object.keys(value).length > 0))
      collect(value, key, into);
    else if (SECTIONS.has(key)) throw notASection(key, into.file);
    else throw unknownKey(key, into.file);
  }
}

function isDeeper(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depthMax === 0 || Object.values(value).some((inner) => isDeeper(inner, depthMax - 1));
}

function isTable(value: unknown): value is Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null;
  return isObject && !Array.isArray(value) && !(value instanceof Date);
}

function tooDeep(file: string): SynclineError {
  return new SynclineError(
    'invalid-argument',
    `${file}: keys are nested more than ${DEPTH_MAX} deep. See "syncline config show" for the valid keys.`,
    { details: { file } },
  );
}

function notASection(key: string, file: string): SynclineError {
  return new SynclineError(
    'invalid-argument',
    `${file}: "${key}" is a section. Write [${key}] on its own line, followed by its keys.`,
    { details: { file, field: key } },
  );
}

function unknownKey(key: string, file: string): SynclineError {
  const secret = SECRET_LIST.find(({ fileKey }) => fileKey === `${key}_file`);
  const hint =
    secret === undefined
      ? suggestion(key, [...KEYS, ...SECTIONS]) || ' See "syncline config show" for the valid keys.'
      : ` Put ${secret.what} into a separate file and set "${secret.fileKey}" to it, or set ${secret.env}.`;
  return new SynclineError('invalid-argument', `${file}: unknown key "${key}".${hint}`, {
    details: { file, field: key },
  });
}
