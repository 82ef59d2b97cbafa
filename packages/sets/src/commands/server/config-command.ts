// CONFIG GET and CONFIG SET. Few of Redis's settings have a meaning here; clients and benchmarks ask for some others,
// which report a value that fits Syncline.
import type { ByteList } from '../../byte-list.js';
import { setsLimits } from '../../limits.js';
import { type CommandContext, type CommandFlag, commandsIn, withHelp } from '../command.js';
import { errorFor, errorTexts } from '../errors.js';
import { Glob } from '../glob.js';
import type { ServerFacts } from '../server-facts.js';

interface Setting {
  /** As CONFIG GET shows it; undefined: it can be set, but is not shown. */
  readonly value: ((facts: ServerFacts) => string) | undefined;
  /** `fixed` cannot be set; `ignored` is accepted without effect. */
  readonly change: 'fixed' | 'ignored' | SettingChange;
}

interface SettingChange {
  /** Why this value is invalid; undefined if it is valid. */
  flaw(value: string): string | undefined;
  apply(value: string, facts: ServerFacts): void;
}

const TIMEOUT_MAX = 2 ** 31 - 1;
const MEMORY = /^(\d{1,15})(b|kb?|mb?|gb?|)$/i;
/** As in Redis, `1k` is 1,000 bytes and `1kb` is 1,024. */
const MEMORY_UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1e3,
  kb: 1024,
  m: 1e6,
  mb: 1024 ** 2,
  g: 1e9,
  gb: 1024 ** 3,
};

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

const maxmemory: Setting = {
  value: (facts) => String(facts.memory().maxBytes),
  change: {
    flaw: (value) =>
      memoryBytes(value) === undefined ? 'argument must be a memory value' : undefined,
    apply: (value, facts) => facts.setMemoryMax(memoryBytes(value) ?? 0),
  },
};

function memoryBytes(text: string): number | undefined {
  const [, digits, unit = ''] = MEMORY.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const bytes = Number(digits) * (MEMORY_UNITS[unit.toLowerCase()] ?? 1);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

const ignored: Setting = { value: undefined, change: 'ignored' };

const settings: ReadonlyMap<string, Setting> = new Map<string, Setting>([
  ['save', { value: () => '', change: 'ignored' }],
  [
    'appendonly',
    { value: (facts) => (facts.persistence().isEnabled ? 'yes' : 'no'), change: 'fixed' },
  ],
  ['appendfsync', appendfsync],
  ['maxclients', { value: (facts) => String(facts.connectionsMax), change: 'fixed' }],
  ['maxmemory', maxmemory],
  ['maxmemory-policy', { value: () => 'noeviction', change: 'fixed' }],
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

const flags: readonly CommandFlag[] = ['admin', 'noscript', 'loading', 'stale'];
const define = commandsIn('server');

const get = define('get', -3, flags, {
  wordsMax: setsLimits.askedWordsMax.value,
  syntax: 'pattern [pattern ...]',
  summary: 'Returns the settings that match one of the patterns.',
  difference:
    'Supports save, appendonly, appendfsync, maxclients, maxmemory, maxmemory-policy, timeout, databases, proto-max-bulk-len and set-max-*.',
  run(context) {
    const { facts, reply } = context;
    const shown = matchingSettings(context);
    reply.map(shown.length);
    for (const { name, value } of shown) {
      reply.bulkText(name);
      reply.bulkText(value(facts));
    }
  },
});

/** A setting that matches several words is shown once, for the first of them. */
function matchingSettings({ args, patternMeter }: CommandContext) {
  const words: { readonly text: string; readonly glob: Glob | undefined }[] = [];
  for (let index = 2; index < args.length; index += 1) {
    const text = args.text(index);
    const pattern = Buffer.from(text.toLowerCase(), 'latin1');
    const isPattern = /[[*?]/.test(text);
    words.push({ text, glob: isPattern ? new Glob(pattern, patternMeter) : undefined });
  }
  return [...settings].flatMap(([name, { value }]) => {
    if (value === undefined) return [];
    const bytes = Buffer.from(name);
    const word = words.find(
      ({ text, glob }) => glob?.matches(bytes, 0, bytes.length) ?? text.toLowerCase() === name,
    );
    if (word === undefined) return [];
    // As in Redis, a name that is not a pattern comes back as it was written.
    return [{ name: word.glob === undefined ? word.text : name, value }];
  });
}

const set = define('set', -4, flags, {
  syntax: 'setting value [setting value ...]',
  summary: 'Changes settings until the next restart: all of them, or none.',
  difference:
    'Works for appendfsync (everysec, always), maxmemory and timeout. save, set-max-* and lazyfree-* are accepted without effect; the rest is an error.',
  run({ args, facts, reply }) {
    const changes = readChanges(args);
    if (typeof changes === 'string') return reply.error(changes);
    for (const { change, value } of changes) change.apply(value, facts);
    reply.simple('OK');
  },
});

/** A text is the error to answer with. As in Redis, an unknown name is reported first. */
function readChanges(args: ByteList) {
  if (args.length % 2 === 1) return errorTexts.syntax;
  const names: string[] = [];
  for (let index = 2; index < args.length; index += 2) {
    const name = args.text(index).toLowerCase();
    const setting = settings.get(name);
    if (setting === undefined) return errorFor.unknownSetting(args.text(index));
    if (setting.change === 'fixed') return errorFor.setting(name, "can't set immutable config");
    if (names.includes(name)) return errorFor.setting(name, 'duplicate parameter');
    names.push(name);
  }
  const changes: { readonly change: SettingChange; readonly value: string }[] = [];
  for (const [position, name] of names.entries()) {
    const change = settings.get(name)?.change;
    if (change === undefined || change === 'fixed' || change === 'ignored') continue;
    const value = args.text(position * 2 + 3);
    const flaw = change.flaw(value);
    if (flaw !== undefined) return errorFor.setting(name, flaw);
    changes.push({ change, value });
  }
  return changes;
}

export const configCommand = define('config', -2, [], {
  summary: 'Returns settings and changes some of them.',
  difference: 'REWRITE and RESETSTAT are not supported.',
  subcommands: withHelp(define, 'config', [get, set]),
  run: ({ reply }) => reply.error(errorFor.wrongArguments('config')),
});
