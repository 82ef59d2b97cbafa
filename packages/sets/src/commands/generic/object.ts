// OBJECT ENCODING, FREQ, IDLETIME and REFCOUNT key: what tools ask about how a value is kept.
import type { Command, CommandContext } from '../command.js';
import { errorTexts, unknownSubcommandText } from '../errors.js';
import { createHelp } from '../help-command.js';
import { refusesKeys } from '../name-limits.js';

const subjects: readonly Command[] = [
  about('encoding', {
    summary: 'Tells the encoding of a set.',
    difference: 'Always `hashtable`.',
    answer: ({ reply }) => reply.bulkText('hashtable'),
  }),
  about('freq', {
    summary: 'Answers with an error, as uses are not counted.',
    answer: ({ reply }) => reply.error(errorTexts.lfuOff),
  }),
  about('idletime', {
    summary: 'Tells how long a set was not used.',
    difference: 'Always 0.',
    answer: ({ reply }) => reply.integer(0),
  }),
  about('refcount', {
    summary: 'Tells how often a set is referred to: once.',
    answer: ({ reply }) => reply.integer(1),
  }),
];

export const object: Command = {
  name: 'object',
  arity: -2,
  flags: [],
  group: 'generic',
  summary: 'Tells how a set is kept.',
  subcommands: [...subjects, createHelp({ name: 'object', group: 'generic' }, subjects)],
  run({ args, reply }) {
    reply.error(unknownSubcommandText('object', args.text(1)));
  },
};

interface Subject {
  readonly summary: string;
  readonly difference?: string;
  readonly answer: (context: CommandContext) => void;
}

/** A subcommand about one set; null if there is no such set. */
function about(name: string, { answer, ...words }: Subject): Command {
  return {
    name,
    arity: 3,
    flags: ['readonly'],
    group: 'generic',
    syntax: 'key',
    ...words,
    keys: { first: 2, last: 2, step: 1 },
    run(context) {
      const { args, keyspace, reply } = context;
      if (refusesKeys(args, reply, 2)) return;
      if (keyspace.cardinality(args, 2) === 0) reply.nullBulk();
      else answer(context);
    },
  };
}
