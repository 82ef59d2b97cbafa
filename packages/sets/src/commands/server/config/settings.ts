// What CONFIG GET shows and CONFIG SET takes. Few of Redis's settings have a meaning here; clients and
// benchmarks ask for some of the others, so these have the value that is true of Syncline.
import { setsLimits } from '../../../limits.js';
import type { ServerFacts } from '../../server-facts.js';

export interface Setting {
  /** As CONFIG GET shows it; undefined: it is taken, but not shown. */
  readonly value: ((facts: ServerFacts) => string) | undefined;
  /** `fixed` cannot be set; `ignored` is accepted without effect. */
  readonly change: 'fixed' | 'ignored' | SettingChange;
}

export interface SettingChange {
  /** Why this value cannot be; undefined if it can. */
  flaw(value: string): string | undefined;
  apply(value: string, facts: ServerFacts): void | Promise<void>;
}

const TIMEOUT_MAX = 2 ** 31 - 1;

const appendfsync: Setting = {
  value: (facts) => (facts.durability() === 'synced' ? 'always' : 'everysec'),
  change: {
    flaw: (value) =>
      ['everysec', 'always'].includes(value.toLowerCase())
        ? undefined
        : 'argument(s) must be one of the following: everysec, always',
    apply: (value, facts) =>
      facts.setDurability(value.toLowerCase() === 'always' ? 'synced' : 'buffered'),
  },
};

const timeout: Setting = {
  value: (facts) => String(facts.idleTimeoutSeconds),
  change: {
    flaw: (value) => {
      if (!/^-?\d{1,15}$/.test(value)) return "argument couldn't be parsed into an integer";
      const isWithin = Number(value) >= 0 && Number(value) <= TIMEOUT_MAX;
      return isWithin ? undefined : `argument must be between 0 and ${TIMEOUT_MAX} inclusive`;
    },
    apply: (value, facts) => {
      facts.idleTimeoutSeconds = Number(value);
    },
  },
};

const ignored: Setting = { value: undefined, change: 'ignored' };

export const settings: ReadonlyMap<string, Setting> = new Map<string, Setting>([
  ['save', { value: () => '', change: 'ignored' }],
  ['appendonly', { value: () => 'yes', change: 'fixed' }],
  ['appendfsync', appendfsync],
  ['maxclients', { value: (facts) => String(facts.connectionsMax), change: 'fixed' }],
  ['maxmemory', { value: () => '0', change: 'fixed' }],
  ['timeout', timeout],
  ['databases', { value: () => '1', change: 'fixed' }],
  ['proto-max-bulk-len', { value: () => String(setsLimits.bulkBytesMax.value), change: 'fixed' }],
  ['set-max-intset-entries', { value: () => '512', change: 'ignored' }],
  ['set-max-listpack-entries', { value: () => '128', change: 'ignored' }],
  ['set-max-listpack-value', { value: () => '64', change: 'ignored' }],
  ['lazyfree-lazy-eviction', ignored],
  ['lazyfree-lazy-expire', ignored],
  ['lazyfree-lazy-server-del', ignored],
  ['lazyfree-lazy-user-del', ignored],
  ['lazyfree-lazy-user-flush', ignored],
]);
