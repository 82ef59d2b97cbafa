// SRANDMEMBER and SPOP: random members, drawn uniformly.
//
// Different members of a large set are drawn and remembered. When most of the set is wanted, or memory does not
// suffice, the rest is chosen in one walk that takes each member with the probability that keeps all choices
// equally likely (selection sampling, Knuth 3.4.2 S).
import { type Random, SynclineError } from '@syncline/kernel';
import { ByteCollector, type ByteList } from '../../byte-list.js';
import type { Pin, WriteHold } from '../../keyspace.js';
import { setsLimits } from '../../limits.js';
import type { Reply } from '../../resp/reply-writer.js';
import { type Command, type CommandContext, commandsIn, keyAtFirst } from '../command.js';
import { errorTexts } from '../errors.js';
import {
  membersPerPart,
  pauseUnlessGone,
  withGate,
  writeBatches,
  writeBulks,
} from '../long-work.js';
import { integerWord } from '../words.js';
import { RememberedMembers } from './algebra.js';

const define = commandsIn('set');
/** If more than this fraction of the set is wanted, walking it is cheaper than drawing. */
const DRAWN_PART_MAX = 1 / 4;
const DRAWS_PER_BATCH = 64;

const srandmember = define('srandmember', -2, ['readonly'], {
  syntax: 'key [count]',
  summary: 'Returns one or more random members of a set.',
  difference: 'A count beyond 2^53 is out of range.',
  keys: keyAtFirst,
  estimate({ args, keyspace }, load) {
    const count = randomCount(args);
    if (args.length === 2 || typeof count === 'string') return;
    const cardinality = keyspace.cardinality(args, 1);
    if (cardinality > 0) load.picks(args, 1, count < 0 ? -count : Math.min(count, cardinality));
  },
  run({ args, keyspace, reply }) {
    const count = randomCount(args);
    if (typeof count === 'string') return reply.error(count);
    const cardinality = keyspace.cardinality(args, 1);
    const shown = writeHead(args, reply, count, cardinality);
    const show = (buffer: Uint8Array, start: number, end: number) => reply.bulk(buffer, start, end);
    if (shown === 0) return;
    if (count < 0) keyspace.draw(args, 1, shown, show);
    else keyspace.sample(args, 1, shown, show);
  },
  async runLong({ args, facts, keyspace, reply }, signal) {
    const count = randomCount(args);
    if (typeof count === 'string') return reply.error(count);
    const set = args.bytes(1);
    using pin = keyspace.openPin([set]);
    const shown = writeHead(args, reply, count, pin.cardinality(set));
    if (shown === 0) return;
    const batches =
      count < 0 ? drawMembers(pin, set, shown) : pickMembers(pin, set, shown, facts.random);
    await writeBatches(reply, batches, pauseUnlessGone(keyspace, signal));
  },
});

/** How many to show, 1 by default; a text is the error to answer with. */
function randomCount(args: ByteList): number | string {
  if (args.length === 2) return 1;
  if (args.length > 3) return errorTexts.syntax;
  const count = integerWord(args, 2);
  if (count === undefined) return errorTexts.notInteger;
  // An array of that size cannot be announced. Redis answers its own smallest number with the same error.
  return count < -Number.MAX_SAFE_INTEGER ? errorTexts.outOfLongRange : count;
}

/** Without a count the reply is one member or null, otherwise an array. Returns how many members follow. */
function writeHead(args: ByteList, reply: Reply, count: number, cardinality: number): number {
  const shown = cardinality === 0 ? 0 : count < 0 ? -count : Math.min(count, cardinality);
  if (args.length > 2) reply.array(shown);
  else if (shown === 0) reply.nullBulk();
  return shown;
}

type Batches = AsyncGenerator<readonly Uint8Array[], void, undefined>;

/** `count` members of a set that is not empty; they may repeat. */
export async function* drawMembers(pin: Pin, set: Uint8Array, count: number): Batches {
  for (let left = count; left > 0; left -= DRAWS_PER_BATCH) {
    const batch: Uint8Array[] = [];
    for (let drawn = 0; drawn < Math.min(left, DRAWS_PER_BATCH); drawn += 1)
      batch.push(pin.randomMember(set));
    yield batch;
  }
}

/** `count` different members; at most the cardinality. */
export async function* pickMembers(
  pin: Pin,
  set: Uint8Array,
  count: number,
  random: Random,
): Batches {
  const cardinality = pin.cardinality(set);
  const picked = new RememberedMembers();
  let isFull = count > cardinality * DRAWN_PART_MAX;
  while (picked.size < count && !isFull) {
    const batch: Uint8Array[] = [];
    for (let draw = 0; draw < DRAWS_PER_BATCH && picked.size < count && !isFull; draw += 1) {
      const member = pin.randomMember(set);
      const outcome = picked.add(member);
      if (outcome === 'added') batch.push(member);
      isFull = outcome === 'full';
    }
    yield batch;
  }
  // The rest is chosen among the members that were not picked.
  let wanted = count - picked.size;
  let left = cardinality - picked.size;
  if (wanted === 0) return;
  for await (const batch of pin.members(set)) {
    const chosen: Uint8Array[] = [];
    for (const member of batch) {
      if (picked.size > 0 && picked.has(member)) continue;
      if (random.float() * left < wanted) {
        chosen.push(member);
        wanted -= 1;
      }
      left -= 1;
    }
    yield chosen;
    if (wanted === 0) return;
  }
}

/** Members are picked here; other nodes receive the removal of these members, not the command. */
const spop = define('spop', -2, ['write', 'fast'], {
  syntax: 'key [count]',
  summary: 'Returns one or more random members of a set after removing them.',
  difference:
    'More than 65,536 members or 3 MiB are popped in several operations, and more than 32 MiB are refused. Not exclusive across nodes: two may pop the same member.',
  keys: keyAtFirst,
  estimate({ args, keyspace }, load) {
    const count = popCount(args);
    if (args.length === 2 || typeof count === 'string') return;
    load.removes(args, 1, Math.min(count, keyspace.cardinality(args, 1)));
  },
  run({ args, keyspace, reply }) {
    const count = popCount(args);
    if (typeof count === 'string') return reply.error(count);
    const popped = Math.min(count, keyspace.cardinality(args, 1));
    writePoppedCount(args, reply, popped);
    if (popped === 0) return;
    keyspace.pop(args, 1, popped, (buffer, start, end) => reply.bulk(buffer, start, end));
  },
  async runLong(context, signal) {
    const { args, keyspace, reply } = context;
    const count = popCount(args);
    if (typeof count === 'string') return reply.error(count);
    const popped = await popInParts(context, count, signal);
    if (popped === undefined) return reply.error(errorTexts.popTooLarge);
    // Only now that the gate is open again: a slow client must not keep others from writing.
    writePoppedCount(args, reply, popped.length);
    await writeBulks(reply, popped, () => keyspace.yieldIfOverBudget());
  },
});

/** Without a count the reply is one member or null, otherwise a set. */
function writePoppedCount(args: ByteList, reply: Reply, popped: number): void {
  if (args.length > 2) reply.set(popped);
  else if (popped === 0) reply.nullBulk();
}

function popCount(args: ByteList): number | string {
  if (args.length === 2) return 1;
  if (args.length > 3) return errorTexts.syntax;
  const count = integerWord(args, 2);
  return count === undefined || count < 0 ? errorTexts.notPositive : count;
}

/** Undefined: more than a reply may hold, and nothing was popped. */
function popInParts(
  context: CommandContext,
  count: number,
  signal: AbortSignal,
): Promise<ByteList | undefined> {
  const { args, keyspace } = context;
  return withGate(keyspace, signal, async (hold) => {
    const cardinality = keyspace.cardinality(args, 1);
    const meanBytes = keyspace.memberBytes(args, 1) / Math.max(1, cardinality);
    const wanted = Math.min(count, cardinality);
    if (wanted * meanBytes > setsLimits.resultBytesMax.value) return undefined;
    const partMax = membersPerPart(keyspace, args, 1);
    const words = new ByteCollector();
    const { list } = words;
    while (list.length < wanted) {
      const stored = list.length;
      const part = Math.min(partMax, wanted - stored, keyspace.cardinality(args, 1));
      if (part === 0) break; // others have removed the rest
      const error = popPart(context, hold, part, words);
      if (error !== undefined && stored === 0) throw error;
      if (error !== undefined) {
        words.truncate(stored); // this part was undone; earlier ones are removed for good, so they are returned
        break;
      }
      try {
        await hold.pause();
      } catch (thrown) {
        if (!(thrown instanceof SynclineError)) throw thrown;
        break; // the server is stopping: what was popped so far is returned
      }
    }
    return list;
  });
}

/** Returns why the part is not removed. */
function popPart(
  { args, keyspace }: CommandContext,
  hold: WriteHold,
  count: number,
  words: ByteCollector,
): SynclineError | undefined {
  try {
    keyspace.pop(args, 1, count, (...bytes) => void words.push(...bytes));
  } catch (thrown) {
    if (thrown instanceof SynclineError) return thrown;
    throw thrown;
  }
  return hold.commit();
}

export const randomCommands: readonly Command[] = [spop, srandmember];
