// Reads settings from SYNCLINE_* variables. An unknown variable is an error, like an unknown key in the file.
// An empty one counts as not set.
import { SynclineError, suggestion } from '@syncline/kernel';
import { SECRET_LIST } from './secret-list.js';
import { SETTING_LIST } from './setting-list.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Read by the command line itself, not by the server; each with its effect. */
export const OTHER_VARIABLES = {
  SYNCLINE_CONFIG: 'The TOML file, if `--config` is not given.',
  SYNCLINE_URL:
    'The server that `status`, `jobs` and `fair top` connect to, if `--url` is not given.',
  SYNCLINE_DEBUG: 'Any value other than `0` prints stack traces of errors, like `--debug`.',
} as const;

export function parseSettingsEnvironment(environment: Environment): ReadonlyMap<string, unknown> {
  checkNames(environment);
  const values = new Map<string, unknown>();
  for (const { key, env, meta } of SETTING_LIST) {
    const text = environment[env];
    if (text !== undefined && text !== '' && !isServiceVariable(env, text))
      values.set(key, meta.parse(text));
  }
  return values;
}

/**
 * Kubernetes sets variables for every service of a pod's namespace: for a service named `syncline` these are
 * SYNCLINE_SERVICE_HOST, SYNCLINE_PORT_7400_TCP_ADDR and so on, and SYNCLINE_PORT=tcp://10.0.0.1:7400.
 */
const SERVICE_VARIABLE =
  /^SYNCLINE(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;
const SERVICE_ADDRESS = /^(tcp|udp|sctp):\/\//;

/** Otherwise a service named `syncline-http` would set the HTTP port to a URL. */
function isServiceVariable(name: string, value: string | undefined): boolean {
  return (
    SERVICE_VARIABLE.test(name) || (name.endsWith('_PORT') && SERVICE_ADDRESS.test(value ?? ''))
  );
}

function checkNames(environment: Environment): void {
  const known = new Set<string>([
    ...SETTING_LIST.map((entry) => entry.env),
    ...SECRET_LIST.map((secret) => secret.env),
    ...Object.keys(OTHER_VARIABLES),
  ]);
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith('SYNCLINE_') || known.has(name)) continue;
    if (isServiceVariable(name, value)) continue;
    const hint = suggestion(name, known) || ' Unset it, or see docs/CONFIG.md for the valid names.';
    throw new SynclineError('invalid-argument', `unknown environment variable ${name}.${hint}`, {
      details: { field: name },
    });
  }
}
