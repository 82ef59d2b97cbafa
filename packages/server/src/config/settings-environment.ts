// From SYNCLINE_* variables to the values of settings by key. A variable that nothing reads is an
// error like an unknown key in the file, for the same reason. An empty one counts as not set.
import { SynclineError } from '@syncline/kernel';
import { suggestion } from './nearest-name.js';
import { SECRET_LIST } from './secret-list.js';
import { SETTING_LIST } from './setting-list.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Read by the command line itself, not by the server; each with its effect. */
export const OTHER_VARIABLES = {
  SYNCLINE_CONFIG: 'The TOML file, where `--config` names none.',
  SYNCLINE_URL: 'The server that `status`, `jobs` and `fair top` ask, where `--url` names none.',
  SYNCLINE_DEBUG: 'Anything but `0`: an error comes with its stack, as with `--debug`.',
} as const;

export function parseSettingsEnvironment(environment: Environment): ReadonlyMap<string, unknown> {
  checkNames(environment);
  const values = new Map<string, unknown>();
  for (const { key, env, meta } of SETTING_LIST) {
    const text = environment[env];
    if (text !== undefined && text !== '') values.set(key, meta.parse(text));
  }
  return values;
}

function checkNames(environment: Environment): void {
  const known = new Set<string>([
    ...SETTING_LIST.map((entry) => entry.env),
    ...SECRET_LIST.map((secret) => secret.env),
    ...Object.keys(OTHER_VARIABLES),
  ]);
  for (const name of Object.keys(environment)) {
    if (!name.startsWith('SYNCLINE_') || known.has(name)) continue;
    const hint = suggestion(name, known) || ' Unset it, or see docs/CONFIG.md for the names.';
    throw new SynclineError('invalid-argument', `unknown environment variable ${name}.${hint}`, {
      details: { field: name },
    });
  }
}
