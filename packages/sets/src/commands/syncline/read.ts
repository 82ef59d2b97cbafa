// SYNCLINE.READ: a read that waits until this node has applied what its caller has seen elsewhere.
//
// It is a command of its own, since a version among the words of SISMEMBER could not be told from a member.
import type { Metrics } from '@syncline/kernel';
import { setsLimits } from '../../limits.js';
import type { Command, CommandContext, CommandFinder, KnownCommand } from '../command.js';
import { errorTexts, noQuorumText, notReadyText } from '../errors.js';
import { resolveCommand } from '../resolve-command.js';
import { runCommand } from '../run-command.js';
import { type ReadOptions, readOptions } from './read-options.js';
import { waitForVersion } from './wait-for-version.js';

const waitingMax = setsLimits.waitingCommandsMax.value;
/** This node, as it has no peers. */
const NODES = 1;

export interface SynclineReadDeps {
  readonly metrics: Metrics;
  /** Asked when the command runs, since it is part of the table. */
  readonly lookup: () => CommandFinder;
}

export function createSynclineRead({ metrics, lookup }: SynclineReadDeps): Command {
  let waitingCount = 0;

  async function runWhenReady(
    known: KnownCommand,
    options: ReadOptions,
    context: CommandContext,
  ): Promise<void> {
    waitingCount += 1;
    let isReady: boolean;
    try {
      isReady = await waitForVersion(options.after, options.timeoutMs, context);
    } finally {
      waitingCount -= 1;
    }
    metrics.add('syncline_sets_read_waits_total', 1, { outcome: isReady ? 'done' : 'timeout' });
    if (isReady) return runInner(known, options, context);
    context.reply.error(notReadyText(context.keyspace.version().toString()));
  }

  return {
    name: 'syncline.read',
    arity: -2,
    flags: ['noscript', 'no_multi'],
    group: 'syncline',
    syntax: '[AFTER version] [QUORUM nodes|MAJORITY] [TIMEOUT milliseconds] [WITHVV] command ...',
    summary:
      'Runs a read-only command once this node has applied a version; with QUORUM once it has applied what that many nodes had.',
    waits: true,
    run(context: CommandContext) {
      const { keyspace, reply } = context;
      const refuse = (text: string) => reply.error(text);
      const options = readOptions(context.args);
      if (typeof options === 'string') return refuse(options);
      const known = resolveCommand(lookup(), options.inner);
      if (typeof known === 'string') return refuse(known);
      if (known.access !== 'read') return refuse(errorTexts.readOnlyInside);
      if (typeof options.quorum === 'number' && options.quorum > NODES)
        return refuse(noQuorumText(NODES, options.quorum));
      if (keyspace.version().dominates(options.after)) return runInner(known, options, context);
      if (options.timeoutMs === 0) return refuse(notReadyText(keyspace.version().toString()));
      if (waitingCount >= waitingMax) return refuse(errorTexts.tooManyWaiting);
      return runWhenReady(known, options, context);
    },
  };
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
