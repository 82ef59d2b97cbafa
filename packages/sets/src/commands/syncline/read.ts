// SYNCLINE.READ: a read that waits until this node has applied what its caller has seen elsewhere.
//
// It is a command of its own, because a version among the words of SISMEMBER could not be distinguished from a
// member.
import { abortedError, type Metrics, SynclineError, VersionVector } from '@syncline/kernel';
import { ByteList } from '../../byte-list.js';
import {
  type Command,
  type CommandContext,
  type CommandFinder,
  commandsIn,
  type KnownCommand,
} from '../command.js';
import { resolveCommand, runCommand } from '../dispatch.js';
import { errorFor, errorTexts } from '../errors.js';
import { waitWithin } from '../long-work.js';
import { integerWord, isOption } from '../words.js';
import { parseVersion } from './versions.js';

const define = commandsIn('syncline');
const TIMEOUT_MS_MAX = 60_000;
const QUORUM_TIMEOUT_MS = 1_000;

export interface SynclineReadDeps {
  readonly metrics: Metrics;
  /** Called when the command runs, since it is part of the table. */
  readonly table: () => CommandFinder;
}

export function createSynclineRead({ metrics, table }: SynclineReadDeps): Command {
  return define('syncline.read', -2, ['noscript', 'no_multi'], {
    syntax: '[AFTER version] [QUORUM nodes|MAJORITY] [TIMEOUT milliseconds] [WITHVV] command ...',
    summary:
      'Runs a read-only command once this node has applied a version; with QUORUM once it has applied what that many nodes had.',
    waits: true,
    run(context: CommandContext) {
      const { facts, keyspace, reply } = context;
      const options = readOptions(context.args);
      if (typeof options === 'string') return reply.error(options);
      const known = resolveCommand(table(), options.inner);
      if (typeof known === 'string') return reply.error(known);
      if (known.access !== 'read') return reply.error(errorTexts.readOnlyInside);
      const nodes = 1 + (facts.replication?.peers().length ?? 0);
      const wanted = options.quorum === 'majority' ? Math.floor(nodes / 2) + 1 : options.quorum;
      const others = (wanted ?? 1) - 1;
      if (others >= nodes) return reply.error(errorFor.noQuorum(nodes, others + 1));
      const version = keyspace.version();
      if (others === 0 && version.dominates(options.after))
        return runInner(known, options, context);
      if (options.timeoutMs === 0)
        return reply.error(
          others > 0 ? errorFor.noQuorum(1, others + 1) : errorFor.notReady(version.toString()),
        );
      if (!facts.blockedQuota.tryTake(1)) return reply.error(errorTexts.tooManyBlocked);
      return runWhenApplied(known, { ...options, others }, context, metrics);
    },
  });
}

async function runWhenApplied(
  known: KnownCommand,
  options: WaitOptions,
  context: CommandContext,
  metrics: Metrics,
): Promise<void> {
  const outcome = await waitForVersion(options, context).finally(() =>
    context.facts.blockedQuota.release(1),
  );
  const { keyspace, reply } = context;
  metrics.add('syncline_sets_read_waits_total', 1, {
    outcome: outcome === 'applied' ? 'done' : 'timeout',
  });
  await keyspace.whenWhole();
  keyspace.commit(); // what it reads is in the log
  if (outcome === 'applied') return runInner(known, options, context);
  if (outcome === 'not-ready') reply.error(errorFor.notReady(keyspace.version().toString()));
  else reply.error(errorFor.noQuorum(1 + outcome, 1 + options.others));
}

interface WaitOptions extends ReadOptions {
  /** Nodes besides this one that must report their version. */
  readonly others: number;
}

/**
 * `applied` when this node has applied the requested version; a number of peers when too few have reported their
 * versions in time. Rejects with `aborted` when the client has gone.
 */
async function waitForVersion(
  { after, timeoutMs, others }: WaitOptions,
  { client, facts, keyspace }: CommandContext,
): Promise<'applied' | 'not-ready' | number> {
  const { clock, replication } = facts;
  try {
    return await waitWithin(clock, timeoutMs, client.reading, async (signal) => {
      const version = after.copy();
      const versions =
        others > 0 ? await replication?.channel.askVersions(others, signal) : undefined;
      if (others > (versions?.length ?? 0)) return versions?.length ?? 0;
      for (const each of versions ?? []) version.merge(each);
      if (!keyspace.version().dominates(version)) replication?.pullForRead();
      await keyspace.whenApplied(version, signal);
      return 'applied';
    });
  } catch (error) {
    if (!(error instanceof SynclineError) || error.code !== 'aborted') throw error;
    if (client.reading.aborted) throw abortedError('SYNCLINE.READ', client.reading);
    return 'not-ready';
  }
}

function runInner(
  known: KnownCommand,
  { inner, withVersion }: ReadOptions,
  context: CommandContext,
): void | Promise<void> {
  if (withVersion) {
    context.reply.array(2);
    context.reply.bulkText(context.keyspace.version().toString());
  }
  return runCommand(known, { ...context, args: inner });
}

interface ReadOptions {
  readonly after: VersionVector;
  readonly quorum: number | 'majority' | undefined;
  readonly timeoutMs: number;
  readonly withVersion: boolean;
  /** The command, its name first. */
  readonly inner: ByteList;
}

/** A text is the error to answer with. */
function readOptions(args: ByteList): ReadOptions | string {
  let after = new VersionVector();
  let quorum: ReadOptions['quorum'];
  let timeoutMs: number | undefined;
  let withVersion = false;
  let index = 1;
  for (; index < args.length; index += 1) {
    if (isOption(args, index, 'withvv')) {
      withVersion = true;
      continue;
    }
    const option = ['after', 'quorum', 'timeout'].find((name) => isOption(args, index, name));
    if (option === undefined) break;
    index += 1;
    if (index === args.length) return errorTexts.syntax;
    if (option === 'after') {
      const version = parseVersion(args.text(index));
      if (typeof version === 'string') return version;
      after = version;
    } else if (option === 'quorum') {
      quorum = isOption(args, index, 'majority') ? 'majority' : integerWord(args, index);
      if (quorum === undefined || (quorum !== 'majority' && quorum < 1))
        return errorTexts.quorumRange;
    } else {
      timeoutMs = integerWord(args, index);
      const isWithin = timeoutMs !== undefined && timeoutMs >= 0 && timeoutMs <= TIMEOUT_MS_MAX;
      if (!isWithin) return errorTexts.readTimeoutRange;
    }
  }
  if (index === args.length) return errorFor.wrongArguments('syncline.read');
  timeoutMs ??= quorum === undefined ? 0 : QUORUM_TIMEOUT_MS;
  return { after, quorum, timeoutMs, withVersion, inner: wordsFrom(args, index) };
}

/** The same bytes without the words before. */
function wordsFrom(args: ByteList, first: number): ByteList {
  const rest = new ByteList(args.buffer);
  for (let index = first; index < args.length; index += 1)
    rest.push(args.start(index), args.end(index));
  return rest;
}
