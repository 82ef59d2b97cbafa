// Small commands about the server: its time, role, checkpoints and peers, and those that Redis clients send although
// they have no meaning here.
import type { PeerStatus } from '@syncline/mesh';
import { type Command, type CommandContext, commandsIn } from '../command.js';
import { errorFor, errorTexts } from '../errors.js';
import { waitWithin } from '../long-work.js';
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
  summary: 'Returns `master`, the last counter of this node, and its connected peers.',
  difference:
    'Every node accepts writes, so each is a master, and peers are listed as its replicas, each with the last counter that it has applied.',
  run({ facts, keyspace, reply }) {
    const counter = keyspace.lastCounter();
    const peers = (facts.replication?.peers() ?? []).filter(({ state }) => isConnected(state));
    reply.array(3);
    reply.bulkText('master');
    reply.integer(facts.replication === undefined ? 0 : counter);
    reply.array(peers.length);
    for (const { address, lagOperations } of peers) {
      const [host = '', port = ''] = splitAddress(address);
      reply.array(3);
      reply.bulkText(host);
      reply.bulkText(port);
      reply.bulkText(String(Math.max(0, counter - lagOperations)));
    }
  },
});

function isConnected(state: PeerStatus['state']): boolean {
  return state === 'connected' || state === 'behind';
}

function splitAddress(address: string): readonly string[] {
  const colon = address.lastIndexOf(':');
  return colon < 0 ? [address, '0'] : [address.slice(0, colon), address.slice(colon + 1)];
}

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
  difference: 'Only FLUSH is supported.',
  subcommands: [functionFlush],
  run: ({ reply }) => reply.error(errorFor.wrongArguments('function')),
});

/** How many peers have applied what this connection wrote. */
const wait = commandsIn('generic')('wait', 3, ['noscript'], {
  syntax: 'peers milliseconds',
  summary:
    'Returns the number of peers that have applied and stored the writes of this connection.',
  difference:
    'Peers are the other nodes. A connection that has written nothing gets the number of connected peers. Inside a transaction it does not wait.',
  run(context: CommandContext) {
    const { args, facts, reply, client, keyspace, patternMeter } = context;
    const count = integerWord(args, 1);
    const timeoutMs = integerWord(args, 2);
    if (count === undefined) return reply.error(errorTexts.notInteger);
    if (timeoutMs === undefined) return reply.error(errorTexts.timeoutNotInteger);
    if (timeoutMs < 0) return reply.error(errorTexts.timeoutNegative);
    const { replication } = facts;
    if (replication === undefined) return reply.integer(0);
    // The counter of an operation that was undone is taken back.
    const counter = Math.min(client.lastCounter, keyspace.lastCounter());
    if (counter === 0) return reply.integer(replication.channel.connectedPeers().length);
    const isInTransaction = patternMeter !== undefined;
    const applied = replication.channel.appliedCount(counter);
    if (isInTransaction || applied >= count) return reply.integer(applied);
    if (!facts.blockedQuota.tryTake(1)) return reply.error(errorTexts.tooManyBlocked);
    return waitForPeers(context, counter, count, timeoutMs);
  },
});

/** A timeout of 0 is none, as in Redis. */
async function waitForPeers(
  { client, facts, keyspace, reply }: CommandContext,
  counter: number,
  count: number,
  timeoutMs: number,
): Promise<void> {
  keyspace.commit(); // what it waits for is in the log
  const applied = await waitWithin(facts.clock, timeoutMs, client.reading, (signal) =>
    Promise.resolve(facts.replication?.channel.whenApplied(counter, count, signal) ?? 0),
  ).finally(() => facts.blockedQuota.release(1));
  reply.integer(applied);
}

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
