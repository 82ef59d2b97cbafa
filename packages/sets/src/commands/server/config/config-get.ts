// CONFIG GET: settings whose names fit one of the patterns.
import { setsLimits } from '../../../limits.js';
import type { Command, CommandContext } from '../../command.js';
import { Glob } from '../../glob.js';
import type { PatternMeter } from '../../pattern-meter.js';
import type { ServerFacts } from '../../server-facts.js';
import { settings } from './settings.js';

export const configGet: Command = {
  name: 'get',
  arity: -3,
  wordsMax: setsLimits.askedWordsMax.value,
  flags: ['admin', 'noscript', 'loading', 'stale'],
  group: 'server',
  syntax: 'pattern [pattern ...]',
  summary: 'Gives the settings that fit one of the patterns.',
  difference:
    'Knows save, appendonly, appendfsync, maxclients, maxmemory, timeout, databases, proto-max-bulk-len and the set-max-* settings.',
  run(context) {
    const { facts, reply } = context;
    const asked = askedNames(context);
    reply.map(asked.length);
    for (const { shown, value } of asked) {
      reply.bulkText(shown);
      reply.bulkText(value(facts));
    }
  },
};

interface Asked {
  /** As in Redis, a name that is no pattern comes back as it was written. */
  readonly shown: string;
  readonly value: (facts: ServerFacts) => string;
}

/** What fits several words is shown once, for the first of them. */
function askedNames({ args, patternMeter }: CommandContext): readonly Asked[] {
  const words: Word[] = [];
  for (let index = 2; index < args.length; index += 1)
    words.push(readWord(args.text(index), patternMeter));
  return [...settings].flatMap(([name, { value }]) => {
    if (value === undefined) return [];
    const bytes = Buffer.from(name);
    const word = words.find(({ lower, glob }) =>
      glob === undefined ? lower === name : glob.matches(bytes, 0, bytes.length),
    );
    if (word === undefined) return [];
    return [{ shown: word.glob === undefined ? word.text : name, value }];
  });
}

interface Word {
  readonly text: string;
  readonly lower: string;
  readonly glob: Glob | undefined;
}

function readWord(text: string, meter: PatternMeter | undefined): Word {
  const lower = text.toLowerCase();
  const isPattern = /[[*?]/.test(text);
  return {
    text,
    lower,
    glob: isPattern ? new Glob(Buffer.from(lower, 'latin1'), meter) : undefined,
  };
}
