// The replies of one process agree with some serial order of its commands, and each operation in the log is what one
// of them had to write.
//
// The log gives the order of the operations, so the search only has to place each command between them. A command saw
// no more than what was stored when it was answered, which is S5; and one that was sent later saw at least that, so
// the order is the one that clients observe. A read that took several turns must still have a single place, which is
// S20. A refused command has written nothing, which is S7, unless a sync has failed. In that case, or without a
// reply, it may or may not have written its operation.
import { assert } from '@syncline/kernel';
import type { OrderKeys, PlainOperation, PlainSets } from '@syncline/sets/testing';
import { PlainCommands, replyText } from './plain-commands.js';
import type { Sent, SetsLife } from './sets-history.js';

const CHANGING = /^(SADD|SREM|SMOVE|SPOP|DEL|FLUSHALL|S[A-Z]+STORE)$/;
/** Lists of these have an order. */
const ORDERED = new Set(['SMISMEMBER', 'SYNCLINE.DIGEST']);
/** Their replies show nothing of the sets, so they need not wait until anything is stored. */
const SHOWS_NO_SETS = /^(BGSAVE|CONFIG)$/;
/** How much of each part of a failure message is shown. */
const SHOWN_CHARACTERS = 300;

interface Place {
  /** Operations explained so far. */
  readonly position: number;
  /** Commands of each connection explained so far. */
  readonly done: readonly number[];
}

export function checkSerialOrder(life: SetsLife, keys: OrderKeys): void {
  const furthest = search(life, keys, true);
  if (furthest === undefined) return;
  const why =
    search(life, keys, false) === undefined
      ? 'S5: an answer left before what it shows was stored'
      : 'S2: no serial order explains the replies';
  assert(false, `${why}: ${describe(life, furthest)}`);
}

/** Undefined if there is an order; otherwise how far the best attempt gets. */
function search(life: SetsLife, keys: OrderKeys, isBounded: boolean): Place | undefined {
  const first: Place = { position: 0, done: life.connections.map(() => 0) };
  const stack = [first];
  const seen = new Set<string>();
  let furthest = first;
  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    const key = `${place.position}:${place.done.join()}`;
    if (seen.has(key)) continue;
    seen.add(key);
    if (isComplete(life, place)) return undefined;
    if (progressOf(place) > progressOf(furthest)) furthest = place;
    stack.push(...placesAfter(life, place, keys, isBounded));
  }
  return furthest;
}

/** The most likely one last. */
function placesAfter(
  life: SetsLife,
  { position, done: allDone }: Place,
  keys: OrderKeys,
  isBounded: boolean,
): readonly Place[] {
  const places: Place[] = [];
  const before = life.steps[position]?.sets;
  const operation = life.steps[position + 1]?.operation;
  assert(before !== undefined, 'an operation that is explained was written');
  for (const [connection, done] of allDone.entries()) {
    const sent = life.connections[connection]?.[done];
    if (sent === undefined) continue;
    const next = { position, done: allDone.with(connection, done + 1) };
    if (isRefused(sent) && !life.hasSyncFailed) return [next];
    const answer = isRefused(sent) ? undefined : sent.answer;
    const latest = isBounded ? latestPosition(sent) : Number.POSITIVE_INFINITY;
    if (position > latest) return []; // it should have been explained earlier
    if (position < sent.storedBefore) continue;
    const isChange = isChanging(sent);
    if (answer === undefined || explains(sent, before, undefined, keys)) {
      if (!isChange || operation === undefined) return [next]; // a command that fits here does not need to wait
      places.unshift(next);
    }
    if (operation === undefined || !isChange || position >= latest) continue;
    if (explains(sent, before, operation, keys)) places.push({ ...next, position: position + 1 });
  }
  return places;
}

function isChanging({ words }: Sent): boolean {
  return words.some(([name = '']) => CHANGING.test(name));
}

/** What was stored when it was answered. */
function latestPosition(sent: Sent): number {
  const [[name = ''] = []] = sent.words;
  if (isRefused(sent) || SHOWS_NO_SETS.test(name)) return Number.POSITIVE_INFINITY;
  return sent.answer?.storedAfter ?? Number.POSITIVE_INFINITY;
}

function isRefused({ answer }: Sent): boolean {
  return answer?.replies.at(-1)?.type === '-';
}

/** Whether the command, run on plain sets, gives the reply that was received and the operation that was written. */
function explains(
  sent: Sent,
  before: PlainSets,
  operation: PlainOperation | undefined,
  keys: OrderKeys,
): boolean {
  const plain = new PlainCommands(before);
  const { answer, isTransaction } = sent;
  const last = answer?.replies.at(-1);
  const replies = isTransaction ? last?.items : last && [last]; // undefined when they are not known
  for (const [index, words] of sent.words.entries()) {
    const [name = ''] = words;
    const reply = isRefused(sent) ? undefined : replies?.[index];
    const expected = versionReply(name, before, keys) ?? plain.run(words, { reply, operation });
    if (reply !== undefined && replyText(reply, ORDERED.has(name)) !== expected) return false;
  }
  const [adds, removes] = plain.effect;
  return isSame(adds, operation?.added ?? []) && isSame(removes, operation?.removed ?? []);
}

function versionReply(name: string, sets: PlainSets, keys: OrderKeys): string | undefined {
  if (name === 'SYNCLINE.VV') return `$${String(sets.version)}`;
  if (name !== 'SYNCLINE.DIGEST') return undefined;
  const [count, ...words] = sets.digest(keys).split(':').map(Number);
  const xor = words.map((word) => word.toString(16).padStart(8, '0')).join('');
  return `[$${String(sets.version)} :${count} $${xor}]`;
}

type Element = readonly [set: string, member: string, ...unknown[]];

function isSame(names: ReadonlySet<string>, elements: readonly Element[]): boolean {
  if (names.size !== elements.length) return false;
  return elements.every(([set, member]) => names.has(`${set}/${member}`));
}

function isComplete(life: SetsLife, { position, done }: Place): boolean {
  if (position < life.steps.length - 1) return false;
  return life.connections.every((sent, connection) =>
    sent.slice(done[connection]).every(({ answer }) => answer === undefined),
  );
}

function progressOf({ position, done }: Place): number {
  return position + done.reduce((sum, count) => sum + count, 0);
}

function describe(life: SetsLife, { position, done }: Place): string {
  const { sets } = life.steps[position] ?? {};
  const { added = [], removed = [] } = life.steps[position + 1]?.operation ?? {};
  const namesOf = (elements: readonly Element[]) =>
    elements.map(([set, member]) => `${set}/${member}`).join(' ');
  const waiting = life.connections.map((sent, connection) => {
    const { words = [], answer } = sent[done[connection] ?? 0] ?? {};
    const reply = answer?.replies.at(-1);
    const text = words.map((command) => command.join(' ')).join(', ');
    return `${text} got ${reply === undefined ? 'no answer' : replyText(reply, true)}`;
  });
  const parts = [
    `at ${String(sets?.version)} with [${sets?.lines().join(', ')}]`,
    `the next operation adds [${namesOf(added)}], removes [${namesOf(removed)}]`,
    ...waiting,
  ];
  return parts.map((part) => part.slice(0, SHOWN_CHARACTERS)).join('; ');
}
