// Checks a hello: what it may contain, what must be the same on all instances, and the resulting namespace.
//
// Instances with different shapes, windows or hashes cannot share cells, and mixing them would throttle the
// wrong callers. The weight of an outcome may differ, so that tuning can be rolled out in stages.

import { SynclineError } from '@syncline/kernel';
import { fairLimits } from '../limits.js';
import {
  type Hello,
  WIRE_HASH,
  WIRE_POLICY,
  type WireTrackerConfig,
} from '../wire/sync-messages.js';
import type { Namespace } from './fair-store.js';
import { checkCount, refused, textOfWhole } from './input-checks.js';
import { DEFAULT_LABEL } from './state-options.js';

const NAME = /^[A-Za-z0-9._@-]+$/;

/** Fields of the contract that must agree, and their option names. */
export const BOUND_FIELDS = {
  levels: 'levels',
  columns: 'columns',
  policy: 'policy',
  rate_per_second: 'ratePerSecond',
  window_ms: 'windowMs',
  hash: 'hash',
  key_check: 'keyCheck',
} as const satisfies Record<string, keyof WireTrackerConfig>;

export function checkHello({ tracker, clientId, config, lastEpoch }: Hello): void {
  checkName('hello.tracker', tracker);
  if (tracker === DEFAULT_LABEL)
    throw refused(
      'hello.tracker',
      tracker,
      'another name: this one is reserved for streams without hello',
    );
  checkName('hello.client_id', clientId);
  checkCount('hello.last_epoch', lastEpoch, 0);
  checkShape(config);
  const { exponential, linear } = WIRE_POLICY;
  if (config.policy !== exponential && config.policy !== linear)
    throw refused('hello.config.policy', config.policy, 'exponential (1) or linear (2)');
  if (config.hash !== WIRE_HASH.keyed && config.hash !== WIRE_HASH.murmur3)
    throw refused('hello.config.hash', config.hash, 'keyed (1) or murmur3 (2)');
  if (!(config.ratePerSecond >= 0 && Number.isFinite(config.ratePerSecond)))
    throw refused('hello.config.rate_per_second', config.ratePerSecond, 'finite and not below 0');
  for (const field of ['increment', 'decrement'] as const) {
    if (!Number.isFinite(config[field]))
      throw refused(`hello.config.${field}`, config[field], 'a finite number');
  }
}

/** Throws `conflict` for the first field that differs; `details.field` names it. */
export function compareConfigs(
  tracker: string,
  bound: WireTrackerConfig,
  offered: WireTrackerConfig,
): void {
  for (const [field, key] of Object.entries(BOUND_FIELDS)) {
    if (bound[key] === offered[key]) continue;
    throw configConflict(tracker, field, { there: bound[key], here: offered[key] });
  }
}

export function namespaceOf(tracker: string, config: WireTrackerConfig): Namespace {
  const { levels, columns, ratePerSecond, windowMs } = config;
  const policy = config.policy === WIRE_POLICY.linear ? 'linear' : 'exponential';
  return { name: tracker, rule: { policy, ratePerSecond }, shape: { levels, columns }, windowMs };
}

function checkShape({ levels, columns, windowMs }: WireTrackerConfig): void {
  const { levelsMax, columnsMax, cellsMax, windowMsMin, windowMsMax } = fairLimits;
  if (!(levels >= 1 && levels <= levelsMax.value))
    throw refused('hello.config.levels', levels, `1 to ${levelsMax.value}`);
  if (!(columns >= 1 && columns <= columnsMax.value))
    throw refused('hello.config.columns', columns, `1 to ${columnsMax.value}`);
  if (levels * columns > cellsMax.value)
    throw refused(
      'hello.config.levels times columns',
      levels * columns,
      `at most ${cellsMax.value}`,
    );
  if (!(windowMs >= windowMsMin.value && windowMs <= windowMsMax.value))
    throw refused(
      'hello.config.window_ms',
      textOfWhole(windowMs),
      `${windowMsMin.value} to ${windowMsMax.value}`,
    );
}

function checkName(field: string, name: string): void {
  const { value: lengthMax } = fairLimits.nameLengthMax;
  if (name.length <= lengthMax && NAME.test(name)) return;
  const shown = JSON.stringify(name.slice(0, lengthMax));
  throw refused(field, shown, `1 to ${lengthMax} characters out of A-Z a-z 0-9 . _ @ -`);
}

// The error for an instance whose configuration is not that of its tracker, in terms of the options. The memory
// store of a service and Redis both detect such differences, and report them alike.

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
  const options: Readonly<Record<string, string>> = BOUND_FIELDS;
  const what = field === 'key_check' ? 'secret' : (options[field] ?? field);
  return new SynclineError(
    'conflict',
    `tracker "${tracker}" is in use with a different ${what}${shown}. Give all instances the same options and secret, or use another name, as in "${nextName(tracker)}".`,
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
