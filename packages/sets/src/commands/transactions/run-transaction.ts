// Makes a transaction ready for its one turn: the sets that its commands walk are brought into memory, then it
// waits for the gate, so that nothing lies between the gate and the changes.
//
// A transaction that walks all sets, as KEYS and FLUSHALL do, keeps the gate closed while the names of all sets
// are read: else a set could be made between the reading and the turn, and be missed. Only what removes all sets
// needs their members in memory.
import { ByteList } from '../../byte-list.js';
import type { KeyspaceView } from '../../keyspace.js';
import { setsLimits } from '../../limits.js';
import type { CommandContext, QueuedCommand, SetNames } from '../command.js';
import { errorTexts } from '../errors.js';
import { keyIndices } from '../server/command/command-keys.js';
import { walkedIndices } from '../walk-plan.js';
import { endTransaction } from './end-transaction.js';
import { runInOneTurn } from './transaction-turn.js';

const namesMax = setsLimits.transactionMembersMax.value;
const nameBytesMax = setsLimits.transactionReadBytesMax.value;
const changesMax = setsLimits.operationElementsMax.value;

export function runTransaction(
  queued: readonly QueuedCommand[],
  context: CommandContext,
): void | Promise<void> {
  const { keyspace } = context;
  const walks = queued.map(({ known, args }) => known.command.walks?.(args));
  if (walks.some((walk) => walk?.kind === 'keyspace')) {
    const removesAll = walks.some((walk) => walk?.kind === 'keyspace' && walk.removes);
    return orEnd(context, runBehindGate(queued, context, removesAll));
  }
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
  removesAll: boolean,
): Promise<void> {
  const { client, keyspace, reply } = context;
  const hold = await keyspace.closeGate(client.gone);
  try {
    using view = await keyspace.openView(client.gone);
    const names = await (removesAll ? readRemoved(view) : readNames(view));
    if (typeof names === 'string') return reply.error(names);
    await keyspace.bringIn([...(removesAll ? names : []), ...missingSets(queued, context)]);
    await hold.room();
    const changing = removesAll ? [...names, ...namesWithin(queued)] : namesWithin(queued);
    runInOneTurn(queued, { ...context, setNames: parted(names, changing) });
  } finally {
    hold.release();
  }
}

/** The names of all sets. A text says why they cannot be read within a transaction. */
async function readNames(view: KeyspaceView): Promise<readonly Uint8Array[] | string> {
  const names: Uint8Array[] = [];
  let bytes = 0;
  for await (const batch of view.sets()) {
    for (const name of batch) bytes += name.length;
    names.push(...batch);
    if (names.length > namesMax || bytes > nameBytesMax) return errorTexts.transactionReadsTooMuch;
  }
  return names;
}

/** The same where all of their members are removed. */
async function readRemoved(view: KeyspaceView): Promise<readonly Uint8Array[] | string> {
  const names: Uint8Array[] = [];
  let members = 0;
  for await (const batch of view.sets()) {
    for (const name of batch) members += view.cardinality(name);
    names.push(...batch);
    if (members > changesMax) return errorTexts.transactionTooLarge;
  }
  return names;
}

function parted(names: readonly Uint8Array[], changing: readonly Uint8Array[]): SetNames {
  const changed = new Map(changing.map((name) => [textOf(name), name]));
  const lasting = names.filter((name) => !changed.has(textOf(name)));
  return { lasting, changing: [...changed.values()] };
}

function textOf(name: Uint8Array): string {
  return ByteList.of(name).text(0);
}

/** Sets that the transaction may make, change or remove. */
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
    const indices = walk === undefined ? [] : walkedIndices(walk);
    const missing = indices.filter((key) => !keyspace.isWhole(args, key));
    return missing.map((key) => args.bytes(key));
  });
}

function accessOf(queued: readonly QueuedCommand[]): 'read' | 'write' {
  return queued.some(({ known }) => known.access === 'write') ? 'write' : 'read';
}
