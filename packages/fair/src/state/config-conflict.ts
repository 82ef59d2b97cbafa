// The error for an instance whose configuration is not that of its tracker, in terms of the options. The memory
// store of a service and Redis both detect such differences, and report them alike.
import { SynclineError } from '@syncline/kernel';
import { WIRE_HASH, WIRE_POLICY } from '../wire/sync-messages.js';

/** `values` are those of the contract: numbers, or their text; `there` is the tracker's. */
export function configConflict(
  tracker: string,
  field: string,
  values: { readonly there: unknown; readonly here: unknown },
): SynclineError {
  const { there, here } = values;
  // The key check distinguishes secrets, so showing it would help an attacker to guess one.
  const shown =
    field === 'key_check' ? '' : ` (${nameOf(field, there)} there, ${nameOf(field, here)} here)`;
  const what = field === 'key_check' ? 'secret' : field;
  return new SynclineError(
    'conflict',
    `hello.config.${field}: the tracker "${tracker}" is in use with a different ${what}${shown}. Give all instances the same options and secret, or use another name, as in "${nextName(tracker)}".`,
    { details: { field, reason: 'config' } },
  );
}

const NAMES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  policy: WIRE_POLICY,
  hash: WIRE_HASH,
};

function nameOf(field: string, value: unknown): string {
  const names = Object.entries(NAMES[field] ?? {});
  return names.find(([, number]) => String(number) === String(value))?.[0] ?? String(value);
}

/** `api`, `api@2`, `api@3`. */
function nextName(tracker: string): string {
  const [, base = tracker, version = '1'] = /^(.+)@(\d{1,9})$/.exec(tracker) ?? [];
  return `${base}@${Number(version) + 1}`;
}
