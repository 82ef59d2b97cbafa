// Small commands about the server: its time, role and checkpoints, and those that Redis clients send although they
// have no meaning here.
import { type Command, type CommandContext, commandsIn } from '../command.js';
import { errorFor, errorTexts } from '../errors.js';
import { integerWord, isOption } from '../words.js';

const define = commandsIn('server');
const MICROSECONDS = 1_000_000;

const time = define('time', 1, ['loading', 'stale', 'fast'], {
  summary: 'Returns the seconds since 1970 and the microseconds of the current second.',
  run({ facts, reply }) {
    const microseconds = Math.floor(facts.clock.nowMs() * 1_000);
    reply.array(2);
    reply.bulkText(String(Math.floor(microseconds / MICROSECONDS)));
    reply.bulkText(String(microseconds % MICROSECONDS));
  },
});

const role = define('role', 1, ['noscript', 'loading', 'stale', 'fast'], {
  summary: 'Returns `master`.',
  difference: 'Every node accepts writes, so each is a master; INFO shows the state of peers.',
  run({ reply }) {
    reply.array(3);
    reply.bulkText('master');
    reply.integer(0);
    reply.array(0);
  },
});

const bgsave = define('bgsave', -1, ['admin', 'noscript', 'no_async_loading'], {
  syntax: '[SCHEDULE]',
  summary: 'Starts a checkpoint in the background.',
  difference: 'SCHEDULE has no effect.',
  run(context) {
    const { args, reply } = context;
    if (args.length > 2 || (args.length === 2 && !isOption(args, 1, 'schedule')))
      return reply.error(errorTexts.syntax);
    startCheckpoint(context, 'Background saving started', errorTexts.saveRunning);
  },
});

const bgrewriteaof = define('bgrewriteaof', 1, ['admin', 'noscript', 'no_async_loading'], {
  summary: 'Starts a checkpoint in the background, which shortens the log.',
  difference: 'The same as BGSAVE.',
  run: (context) =>
    startCheckpoint(
      context,
      'Background append only file rewriting started',
      errorTexts.rewriteRunning,
    ),
});

function startCheckpoint({ facts, reply }: CommandContext, started: string, running: string): void {
  const outcome = facts.startCheckpoint();
  const failure = facts.failure();
  if (outcome === 'started') reply.simple(started);
  else if (outcome === 'running') reply.error(running);
  else if (outcome === 'closing') reply.error(errorTexts.closing);
  else if (outcome === 'nothing-to-write-to') reply.error(errorTexts.nothingToSaveTo);
  else reply.error(failure === undefined ? errorTexts.failed : errorFor.failure(failure));
}

const lastsave = define('lastsave', 1, ['loading', 'stale', 'fast'], {
  summary: 'Returns the Unix time of the last successful checkpoint.',
  run: ({ facts, reply }) =>
    reply.integer(Math.floor(facts.persistence().checkpoint.lastSaveMs / 1_000)),
});

const wait = commandsIn('generic')('wait', 3, ['noscript'], {
  syntax: 'peers milliseconds',
  summary: 'Returns the number of peers that have applied the writes of this connection.',
  difference: 'Returns 0 at once: this node has no peers.',
  run({ args, reply }) {
    const timeoutMs = integerWord(args, 2);
    if (integerWord(args, 1) === undefined) reply.error(errorTexts.notInteger);
    else if (timeoutMs === undefined) reply.error(errorTexts.timeoutNotInteger);
    else if (timeoutMs < 0) reply.error(errorTexts.timeoutNegative);
    else reply.integer(0);
  },
});

/** Clients send it to find out whether this is a cluster. */
const cluster = define('cluster', -2, [], {
  syntax: '...',
  summary: 'Returns the error that cluster support is disabled, as Redis does outside a cluster.',
  difference: 'The same error for every subcommand.',
  run: ({ reply }) => reply.error(errorTexts.clusterDisabled),
});

const debug = define('debug', -2, ['admin', 'noscript', 'loading', 'stale'], {
  syntax: '...',
  summary: 'Returns the error that DEBUG is not allowed.',
  difference: 'It cannot be enabled.',
  refusal: errorTexts.debugNotAllowed,
  run: ({ reply }) => reply.error(errorTexts.debugNotAllowed),
});

/** Test suites of clients send it when they start. */
const functionFlush = define('flush', -2, ['write', 'noscript'], {
  syntax: '[ASYNC|SYNC]',
  summary: 'Returns OK: there are no functions.',
  run({ args, reply }) {
    if (args.length > 3) reply.error(errorTexts.functionFlushArguments);
    else if (args.length < 3 || isOption(args, 2, 'sync') || isOption(args, 2, 'async'))
      reply.simple('OK');
    else reply.error(errorTexts.functionFlushOption);
  },
});

const functionCommand = define('function', -2, [], {
  summary: 'There are no functions.',
  difference: 'Only FLUSH is known.',
  subcommands: [functionFlush],
  run: ({ reply }) => reply.error(errorFor.wrongArguments('function')),
});

export const serverCommands: readonly Command[] = [
  bgrewriteaof,
  bgsave,
  cluster,
  debug,
  functionCommand,
  lastsave,
  role,
  time,
  wait,
];
