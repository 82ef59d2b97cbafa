// WAIT: how many peers have applied what this connection wrote.
import { type CommandContext, commandsIn } from '../command.js';
import { errorTexts } from '../errors.js';
import { waitWithin } from '../waiting.js';
import { integerWord } from '../words.js';

export const wait = commandsIn('generic')('wait', 3, ['noscript'], {
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
    if (counter === 0) return reply.integer(replication.connectedCount());
    const isInTransaction = patternMeter !== undefined;
    const applied = replication.appliedCount(counter);
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
    Promise.resolve(facts.replication?.whenApplied(counter, count, signal) ?? 0),
  ).finally(() => facts.blockedQuota.giveBack(1));
  reply.integer(applied);
}
