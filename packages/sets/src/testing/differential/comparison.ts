// Runs the same steps on our sets and on redis-server, and reports the first difference.
//
// Members come in any order and random picks are arbitrary, so those are compared as sets. What our sets popped is
// then removed from the other side too, so that both continue with the same sets.
import { isDeepStrictEqual } from 'node:util';
import type { RespAsker, Words } from './resp-asker.js';
import { type RespReply, textsOf } from './resp-replies.js';

export type Step =
  | { readonly kind: 'command'; readonly words: Words }
  /** From WATCH or MULTI to EXEC or DISCARD, with nothing random in it. It must leave no transaction open. */
  | { readonly kind: 'transaction'; readonly commands: readonly Words[] }
  | { readonly kind: 'restart' };

export interface Sides {
  readonly ours: RespAsker;
  readonly theirs: RespAsker;
}

export interface Difference {
  readonly words: Words | readonly Words[];
  readonly ours: unknown;
  readonly theirs: unknown;
}

const UNORDERED = new Set(['smembers', 'sinter', 'sunion', 'sdiff', 'keys']);

export async function compareStep(
  step: Exclude<Step, { kind: 'restart' }>,
  sides: Sides,
): Promise<Difference | undefined> {
  if (step.kind === 'transaction') return compareTransaction(step, sides);
  const { words } = step;
  switch (words[0]?.toLowerCase()) {
    case 'spop':
      return comparePop(words, sides);
    case 'srandmember':
      return comparePicks(words, sides, ['SMEMBERS', words[1] ?? '']);
    case 'randomkey':
      return comparePicks(words, sides, ['KEYS', '*']);
    case 'sscan':
      return compareScan(words, sides, 2);
    case 'scan':
      return compareScan(words, sides, 1);
    default:
      return compareOne(words, sides);
  }
}

/** All sets, at the end of a sequence. */
export async function compareAll(
  names: readonly string[],
  sides: Sides,
): Promise<Difference | undefined> {
  for (const words of [['DBSIZE'], ...names.map((name) => ['SMEMBERS', name])]) {
    const difference = await compareOne(words, sides);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

async function askBoth(words: Words, { ours, theirs }: Sides) {
  const [[our], [their]] = await Promise.all([ours.ask([words]), theirs.ask([words])]);
  return [our ?? missing, their ?? missing] as const;
}

const missing: RespReply = { type: 'missing' };

async function compareOne(words: Words, sides: Sides): Promise<Difference | undefined> {
  const [our, their] = await askBoth(words, sides);
  return differ(words, unordered(words, our), unordered(words, their));
}

async function compareTransaction(
  { commands }: Extract<Step, { kind: 'transaction' }>,
  { ours, theirs }: Sides,
): Promise<Difference | undefined> {
  const replies = await Promise.all([ours.ask(commands), theirs.ask(commands)]);
  const [our, their] = replies.map((list) => unorderedEach(commands, list));
  return differ(commands, our, their);
}

function unorderedEach(commands: readonly Words[], replies: readonly RespReply[]) {
  const queued: Words[] = [];
  return replies.map((reply, index) => {
    const words = commands[index] ?? [];
    if (reply.text === 'QUEUED') queued.push(words);
    if (words[0]?.toLowerCase() !== 'exec') return unordered(words, reply);
    const items = reply.items?.map((item, place) => unordered(queued[place] ?? [], item));
    return items === undefined ? reply : { ...reply, items };
  });
}

async function comparePop(words: Words, sides: Sides): Promise<Difference | undefined> {
  const [our, their] = await askBoth(words, sides);
  const shape = differ(words, shapeOf(our), shapeOf(their));
  if (shape !== undefined || our.type === '-') return shape;
  const [popped, theirPopped] = [picksOf(our), picksOf(their)];
  if (popped.length === 0) return undefined;
  const set = words[1] ?? '';
  const [, removed] = await sides.theirs.ask([
    ['SADD', set, ...theirPopped],
    ['SREM', set, ...popped],
  ]);
  return differ(words, { removed: String(new Set(popped).size) }, { removed: removed?.text });
}

async function comparePicks(
  words: Words,
  sides: Sides,
  listing: Words,
): Promise<Difference | undefined> {
  const [our, their] = await askBoth(words, sides);
  const shape = differ(words, shapeOf(our), shapeOf(their));
  if (shape !== undefined || our.type === '-') return shape;
  const [all] = await sides.theirs.ask([listing]);
  const foreign = picksOf(our).filter((pick) => !textsOf(all).includes(pick));
  if (foreign.length > 0) return { words, ours: foreign, theirs: textsOf(all) };
  const isDifferent = !words[2]?.startsWith('-');
  const repeated = picksOf(our).filter((pick, at, picks) => picks.indexOf(pick) !== at);
  return isDifferent ? differ(words, repeated, []) : undefined;
}

/** Follows the cursors of both from a start to the end. From elsewhere only the form can be compared. */
async function compareScan(
  words: Words,
  sides: Sides,
  cursorAt: number,
): Promise<Difference | undefined> {
  const [our, their] = await askBoth(words, sides);
  const form = differ(words, formOf(our), formOf(their));
  if (form !== undefined || our.type === '-') return form;
  if (!/^[+-]?0*$/.test(words[cursorAt] ?? '')) return undefined;
  const [all, theirAll] = await Promise.all([
    followCursors(words, sides.ours, cursorAt),
    followCursors(words, sides.theirs, cursorAt),
  ]);
  return differ(words, all, theirAll);
}

async function followCursors(words: Words, asker: RespAsker, cursorAt: number) {
  const seen = new Set<string>();
  let cursor = '0';
  do {
    const [reply] = await asker.ask([words.with(cursorAt, cursor)]);
    cursor = reply?.items?.[0]?.text ?? '0';
    for (const text of textsOf(reply?.items?.[1])) seen.add(text);
  } while (cursor !== '0');
  return [...seen].toSorted();
}

function unordered(words: Words, reply: RespReply): RespReply {
  if (!UNORDERED.has(words[0]?.toLowerCase() ?? '') || reply.items === undefined) return reply;
  const items = reply.items.toSorted((one, other) =>
    (one.text ?? '') < (other.text ?? '') ? -1 : 1,
  );
  return { ...reply, items };
}

/** Errors as they are, bulk strings without their bytes, lists by their length. */
function shapeOf(reply: RespReply): unknown {
  if (reply.items !== undefined) return { type: reply.type, length: reply.items.length };
  return isValue(reply) ? { type: reply.type, text: 'any' } : reply;
}

function formOf(reply: RespReply): unknown {
  if (reply.items === undefined) return reply;
  const [cursor, items] = reply.items;
  return { type: reply.type, cursor: cursor?.type, items: items?.type, length: reply.items.length };
}

function picksOf(reply: RespReply): readonly string[] {
  if (reply.items !== undefined) return textsOf(reply);
  return isValue(reply) ? [reply.text ?? ''] : [];
}

function isValue({ type, text }: RespReply): boolean {
  return type === '$' && text !== undefined;
}

function differ(
  words: Difference['words'],
  ours: unknown,
  theirs: unknown,
): Difference | undefined {
  return isDeepStrictEqual(ours, theirs) ? undefined : { words, ours, theirs };
}
