// Makes a transaction ready for its one turn: the sets that its commands walk are brought into memory, then it
// waits for the gate, so that nothing lies between the gate and the changes.
//
// A transaction that walks all sets, as FLUSHALL does, keeps the gate closed while the names of all sets are
// read: else a set could be made between the reading and the turn, and be missed.
import type { KeyspaceView } from '../../keyspace.js';
import { setsLimits } from '../../limits.js';
import type { CommandContext, QueuedCommand } from '../command.js';
import { errorTexts } from '../errors.js';
import { keyIndices } from '../server/command/command-keys.js';
import { walkedKeys } from '../walk-plan.js';
import { endTransaction } from './end-transaction.js';
import { runInOneTurn } from './transaction-turn.js';

const membersMax = setsLimits.transactionMembersMax.value;

export function runTransaction(
  queued: readonly QueuedCommand[],
  context: CommandContext,
): void | Promise<void> {
  const { keyspace } = context;
  if (queued.some(({ known, args }) => known.command.walks?.(args).kind === 'keyspace'))
    return orEnd(context, runBehindGate(queued, context));
  const missing = missingSets(queued, context);
  if (missing.length > 0) return orEnd(context, runWhenBrought(queued, context, missing));
  const admitted = keyspace.admit(accessOf(queued));
  if (admitted !== undefined)
    return orEnd(
      context,
      admitted.then(() => runInOneTurn(queued, context)),
    );
  runInOneTurn(queued, context);
  return undefined;
}

/** A transaction that fails before its turn is over all the same. */
async function orEnd(context: CommandContext, running: Promise<void>): Promise<void> {
  try {
    await running;
  } finally {
    endTransaction(context);
  }
}

async function runWhenBrought(
  queued: readonly QueuedCommand[],
  context: CommandContext,
  missing: readonly Uint8Array[],
): Promise<void> {
  const { keyspace } = context;
  await keyspace.bringIn(missing);
  const admitted = keyspace.admit(accessOf(queued));
  if (admitted !== undefined) await admitted;
  runInOneTurn(queued, context);
}

async function runBehindGate(
  queued: readonly QueuedCommand[],
  context: CommandContext,
): Promise<void> {
  const { client, keyspace, reply } = context;
  const hold = await keyspace.closeGate(client.gone);
  try {
    using view = await keyspace.openView(client.gone);
    const setNames = await readNames(view);
    if (setNames === undefined) return reply.error(errorTexts.transactionWalksTooMuch);
    await keyspace.bringIn([...setNames, ...missingSets(queued, context)]);
    await hold.room();
    runInOneTurn(queued, { ...context, setNames: [...setNames, ...namesWithin(queued)] });
  } finally {
    hold.release();
  }
}

/** Undefined: there are more members in all than a transaction may walk. */
async function readNames(view: KeyspaceView): Promise<readonly Uint8Array[] | undefined> {
  const names: Uint8Array[] = [];
  let members = 0;
  for await (const batch of view.sets()) {
    for (const name of batch) {
      members += view.cardinality(name);
      names.push(name);
    }
    if (members > membersMax) return undefined;
  }
  return names;
}

/** Sets that the transaction may make itself. Those that were there are named twice, which does no harm. */
function namesWithin(queued: readonly QueuedCommand[]): readonly Uint8Array[] {
  return queued.flatMap(({ known, args }) => {
    const keys = known.access === 'write' ? known.command.keys : undefined;
    const indices = keys === undefined ? [] : (keyIndices(keys, args, 0) ?? []);
    return indices.map((index) => args.bytes(index));
  });
}

function missingSets(
  queued: readonly QueuedCommand[],
  { keyspace }: CommandContext,
): readonly Uint8Array[] {
  return queued.flatMap(({ known, args }) => {
    const walk = known.command.walks?.(args);
    if (walk?.kind !== 'sets' && walk?.kind !== 'whole') return [];
    const keys = walk.keys.filter((key) => !keyspace.isWhole(args, key));
    return walkedKeys({ ...walk, keys }, args);
  });
}

function accessOf(queued: readonly QueuedCommand[]): 'read' | 'write' {
  return queued.some(({ known }) => known.access === 'write') ? 'write' : 'read';
}
