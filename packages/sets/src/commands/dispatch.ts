// Runs a command: from its words to its reply.
//
// A recently used command is found by the bytes of its name, without making a string. What the flags of a command
// mean for dispatch is computed once, when the table is built. The checks come in Redis's order: does the command
// exist, does it have the right number of words, has the client authenticated, is there memory, does the server
// accept it now, is a transaction open. A command that is refused while a transaction is open makes it fail, and a
// refused EXEC ends it. A plain SADD or SISMEMBER allocates nothing here.
import { abortedError, assert, SynclineError } from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import { absenceRemark } from './absent-commands.js';
import type {
  Command,
  CommandContext,
  CommandFinder,
  CommandFlag,
  KeyPositions,
  KnownCommand,
} from './command.js';
import { errorFor, errorTexts } from './errors.js';
import { Load, turnLimitsOf } from './load.js';
import type { ServerFacts } from './server-facts.js';
import { endTransaction, queueCommand } from './transactions/transaction-state.js';
import { integerWord } from './words.js';

const keyBytesMax = setsLimits.keyBytesMax.value;
/** An error text never shows more words than this. */
const SHOWN_WORDS_MAX = 64;
const RECENT = 64;

/** These run at once inside MULTI. */
const neverQueued = new Set(['multi', 'exec', 'discard', 'watch', 'quit', 'reset']);

/** These read or change sets, though Redis's flags do not say so. */
const alsoUseSets: ReadonlySet<string> = new Set(['exec', 'info', 'syncline.read']);

/** These may have to wait outside a transaction, though they can be queued or end one. */
const alsoWait: ReadonlySet<string> = new Set(['exec', 'wait']);

export class CommandLookup implements CommandFinder {
  readonly all: readonly KnownCommand[];
  readonly #byName: ReadonlyMap<string, Named>;
  readonly #nameBytesMax: number;
  /** Commands found last, by the length and first letter of their names. This usually avoids creating a string. */
  readonly #recent: (Named | undefined)[] = Array.from({ length: RECENT }, () => undefined);

  constructor(commands: readonly Command[], container?: string) {
    this.all = commands.map((command) => knownCommand(command, container));
    const named = this.all.map((known) => ({ name: Buffer.from(known.command.name), known }));
    this.#byName = new Map(named.map((each) => [each.known.command.name, each]));
    this.#nameBytesMax = Math.max(0, ...named.map(({ name }) => name.length));
  }

  find(args: ByteList, index: number): KnownCommand | undefined {
    const size = args.sizeOf(index);
    if (size > this.#nameBytesMax) return undefined;
    const place = (size * 27 + ((args.buffer[args.start(index)] ?? 0) | 0x20)) % RECENT;
    const recent = this.#recent[place];
    if (recent !== undefined && isName(recent.name, args, index)) return recent.known;
    const found = this.#byName.get(args.text(index).toLowerCase());
    if (found !== undefined) this.#recent[place] = found;
    return found?.known;
  }
}

interface Named {
  readonly name: Uint8Array;
  readonly known: KnownCommand;
}

function isName(name: Uint8Array, args: ByteList, index: number): boolean {
  if (name.length !== args.sizeOf(index)) return false;
  const { buffer } = args;
  const start = args.start(index);
  for (let at = 0; at < name.length; at += 1) {
    const byte = buffer[start + at] as number;
    const isUpper = byte >= 0x41 && byte <= 0x5a;
    if (name[at] !== (isUpper ? byte | 0x20 : byte)) return false;
  }
  return true;
}

function knownCommand(command: Command, container: string | undefined): KnownCommand {
  const { name, subcommands } = command;
  const has = (flag: CommandFlag) => command.flags.includes(flag);
  const fullName = container === undefined ? name : `${container}|${name}`;
  return {
    command,
    arity: command.arity,
    wordsMax: command.wordsMax ?? Number.POSITIVE_INFINITY,
    keys: command.keys,
    refusal: command.refusal,
    estimate: command.estimate,
    run: command.run.bind(command),
    mayWait: command.waits === true || alsoWait.has(fullName),
    fullName,
    access: has('write') ? 'write' : has('readonly') ? 'read' : undefined,
    usesSets: has('write') || has('readonly') || alsoUseSets.has(fullName),
    makesOperations: has('write') || fullName === 'exec',
    isOpen: has('no_auth'),
    // Redis refuses PING while it loads; here it answers, because the node is alive.
    isLoadable: has('loading') || fullName === 'ping',
    isDeniedOnOom: has('denyoom'),
    isNeverQueued: neverQueued.has(fullName),
    isRefusedInMulti: has('no_multi') || command.waits === true,
    subcommands: subcommands === undefined ? undefined : new CommandLookup(subcommands, name),
  };
}

/** The command that the words name, or the error to answer with. */
export function resolveCommand(table: CommandFinder, args: ByteList): KnownCommand | string {
  const command = table.find(args, 0);
  if (command === undefined) return unknownCommand(args);
  let known = command;
  if (command.subcommands !== undefined && args.length > 1) {
    const subcommand = command.subcommands.find(args, 1);
    if (subcommand === undefined) return errorFor.unknownSubcommand(command.fullName, args.text(1));
    known = subcommand;
  }
  const { arity, wordsMax, keys } = known;
  if (!isArity(arity, args.length)) return errorFor.wrongArguments(known.fullName);
  if (args.length > wordsMax) return errorFor.tooManyWords(known.fullName, wordsMax);
  if (keys !== undefined && args.span > keyBytesMax && hasLongKey(keys, args))
    return errorTexts.keyTooLong;
  return known;
}

function hasLongKey({ first, last, step, countAt }: KeyPositions, args: ByteList): boolean {
  if (countAt !== undefined) {
    const count = integerWord(args, countAt) ?? 0;
    return hasLongKey({ first: countAt + 1, last: countAt + count, step: 1 }, args);
  }
  const end = Math.min(args.length, last < 0 ? args.length + last + 1 : last + 1);
  for (let key = first; key < end; key += step) if (args.sizeOf(key) > keyBytesMax) return true;
  return false;
}

/** A negative arity is the least number of words. */
export function isArity(arity: number, words: number): boolean {
  return arity < 0 ? words >= -arity : words === arity;
}

function unknownCommand(args: ByteList): string {
  const words: string[] = [];
  const shown = Math.min(args.length, SHOWN_WORDS_MAX);
  for (let index = 0; index < shown; index += 1) words.push(args.text(index));
  return errorFor.unknownCommand(words, absenceRemark(args.text(0)));
}

/**
 * A promise means that the reply comes later, and that later commands on the connection wait. Throws and rejects only
 * because of a bug, also when the client has left: the caller must not ignore that.
 */
export type Dispatch = (context: CommandContext) => void | Promise<void>;

export function createDispatch(table: CommandFinder): Dispatch {
  return (context) => {
    const known = context.known ?? resolveCommand(table, context.args);
    if (typeof known === 'string') return refuse(table, context, known);
    context.known = known;
    const refusal = refusalOf(known, context);
    if (refusal !== undefined) return refuse(table, context, refusal);
    if (context.client.queued !== undefined && !known.isNeverQueued)
      return queueCommand(known, context);
    return answer(known, context);
  };
}

/** Why this command may not run for this client at this time; for EXEC, why a queued one may not. */
function refusalOf(known: KnownCommand, { client, facts }: CommandContext): string | undefined {
  if (known.refusal !== undefined) return known.refusal;
  if (!client.isAuthenticated && !known.isOpen) return errorTexts.notAuthenticated;
  const { queued } = client;
  if (queued === undefined) return serverRefusal(known, facts);
  // Queueing also takes memory.
  if (!known.isNeverQueued && facts.isOutOfMemory()) return errorTexts.outOfMemory;
  const refusal = serverRefusal(known, facts);
  if (refusal !== undefined) return refusal;
  if (known.isRefusedInMulti) return errorTexts.notInsideMulti;
  if (known.fullName !== 'exec' || client.isQueueBroken) return undefined;
  for (const { known: inner } of queued) {
    const innerRefusal = serverRefusal(inner, facts);
    if (innerRefusal !== undefined) return innerRefusal;
  }
  return undefined;
}

/** Why the server currently refuses this command to all clients. */
function serverRefusal(known: KnownCommand, facts: ServerFacts): string | undefined {
  if (known.isDeniedOnOom && facts.isOutOfMemory()) return errorTexts.outOfMemory;
  const phase = facts.phase();
  if (phase === 'serving') return undefined;
  if (phase === 'closing') return known.access === 'write' ? errorTexts.closing : undefined;
  if (known.isLoadable) return undefined;
  if (phase === 'loading') return errorTexts.loading;
  const failure = facts.failure();
  return failure === undefined ? errorTexts.failed : errorFor.failure(failure);
}

/** As in Redis, a refused EXEC ends its transaction all the same. */
function refuse(table: CommandFinder, context: CommandContext, text: string): void {
  const { args, client, reply } = context;
  if (table.find(args, 0)?.fullName === 'exec') {
    endTransaction(context);
    reply.error(errorFor.execRefused(text));
    return;
  }
  if (client.queued !== undefined) client.isQueueBroken = true;
  reply.error(text);
}

function answer(known: KnownCommand, context: CommandContext): void | Promise<void> {
  const { client, facts, keyspace, reply } = context;
  client.lastCommand = known.fullName;
  if (known.usesSets) client.hasUsedSets = true;
  facts.countCommand(known.fullName);
  if (known.mayWait) context.args.own();
  const mark = reply.mark();
  const counterBefore = known.makesOperations ? keyspace.lastCounter() : 0;
  try {
    const pending = runCommand(known, context);
    if (pending !== undefined) return answerLater(pending, known, context, mark);
  } catch (error) {
    answerFailure(context, mark, error);
  }
  // Nothing else ran in between, so a new counter belongs to this command.
  if (known.makesOperations) {
    const counter = keyspace.lastCounter();
    if (counter !== counterBefore) client.lastCounter = counter;
  }
  return undefined;
}

async function answerLater(
  pending: Promise<void>,
  known: KnownCommand,
  context: CommandContext,
  mark: number,
): Promise<void> {
  try {
    await pending;
  } catch (error) {
    answerFailure(context, mark, error);
  }
  // Others may have written in between; the newest counter covers that of this command.
  if (known.makesOperations) context.client.lastCounter = context.keyspace.lastCounter();
}

/**
 * Replaces what was written of the reply. Once a part of it has been sent, all that is left is to close the
 * connection.
 */
function answerFailure({ client, reply }: CommandContext, mark: number, thrown: unknown): void {
  if (!(thrown instanceof SynclineError)) throw thrown;
  if (reply.rewind(mark)) reply.error(errorFor.failure(thrown));
  else client.cut();
}

/**
 * Runs a command that has passed all checks: within this turn if that is enough, otherwise in slices. Nothing happens
 * between the admission of a write and its change.
 */
export function runCommand(known: KnownCommand, context: CommandContext): void | Promise<void> {
  const whole = context.keyspace.whenWhole();
  if (whole !== undefined && (known.access !== undefined || known.makesOperations))
    return runAfter(whole, runCommand, known, context);
  if (needsMoreThanATurn(known, context)) return runLong(known, context);
  const admitted = known.access === 'write' ? context.keyspace.admitWrite() : undefined;
  if (admitted === undefined) return runNow(known, context);
  return runAfter(admitted, runAdmitted, known, context);
}

/** Its sets may have grown while it waited. */
function runAdmitted(known: KnownCommand, context: CommandContext): void | Promise<void> {
  return needsMoreThanATurn(known, context) ? runLong(known, context) : runNow(known, context);
}

/** Runs it once `ready` resolves; its turn may be over when it replies. */
async function runAfter(
  ready: Promise<void>,
  run: typeof runCommand,
  known: KnownCommand,
  context: CommandContext,
): Promise<void> {
  context.args.own();
  await ready;
  const pending = run(known, context);
  if (pending !== undefined) return pending;
  throwIfUndone(context.keyspace);
  return undefined;
}

/** For a command that replies later than it writes: by then its turn may be over, and undone. */
export function throwIfUndone(keyspace: CommandContext['keyspace']): void {
  const error = keyspace.commit();
  if (error !== undefined) throw error;
}

function needsMoreThanATurn({ estimate, command }: KnownCommand, context: CommandContext): boolean {
  if (estimate === undefined) return false;
  context.client.hasWalked = true;
  if (command.runLong === undefined) return false;
  const load = new Load(context.keyspace, turnLimitsOf(context.facts.turnMembersMax));
  estimate(context, load);
  return load.isTooMuch;
}

function runNow(known: KnownCommand, context: CommandContext): void | Promise<void> {
  const mark = context.reply.mark();
  try {
    return known.run(context);
  } catch (error) {
    const isTooLarge = error instanceof SynclineError && error.code === 'limit-exceeded';
    if (!isTooLarge || known.command.runLong === undefined) throw error;
    context.reply.rewind(mark);
    return runLong(known, context);
  }
}

function runLong(known: KnownCommand, context: CommandContext): Promise<void> {
  const { command, fullName, access } = known;
  assert(command.runLong !== undefined, `${fullName} can run for longer than a turn`);
  const { args, client, keyspace } = context;
  args.own();
  const signal = access === 'write' ? client.gone : client.reading;
  // Before it opens a pin: there may be many of them in a pipeline.
  if (signal.aborted)
    return Promise.reject(abortedError(`${fullName} for a client that has left`, signal));
  keyspace.commit(); // what it reads is in the log
  return command.runLong(context, signal);
}
