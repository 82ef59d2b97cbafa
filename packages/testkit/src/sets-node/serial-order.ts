// The answers of one life agree with some serial order of its commands, and each operation in the log is what one of
// them had to write.
//
// The log gives the order of the operations, so what is searched for is only where each command stands between them.
// A command that was answered saw no more than what was stored by then, which is S5; and one that was sent later saw
// at least that, so the order is the one that clients observe. A read that took several turns must stand at one place
// all the same, which is S20. A command that was refused has written nothing, which is S7, unless a sync has failed.
// Then, and without an answer, it may have written its operation or not.
import { assert } from '@syncline/kernel';
import type { OrderKeys, PlainOperation, PlainSets, RespReply } from '@syncline/sets/testing';
import { PlainCommands, replyText } from './plain-commands.js';
import { describe as describeCommand } from './set-client.js';
import type { Sent, SetsLife } from './sets-history.js';

const CHANGING = /^(SADD|SREM|SMOVE|SPOP|DEL|FLUSHALL|S[A-Z]+STORE)$/;
/** Lists of these have an order. */
const ORDERED = new Set(['SMISMEMBER', 'SYNCLINE.DIGEST']);
const SHOWN_BYTES_MAX = 300;

interface Place {
  /** Operations that are explained. */
  readonly position: number;
  /** Commands of each connection that are explained. */
  readonly done: readonly number[];
}

export function checkSerialOrder(life: SetsLife, keys: OrderKeys): void {
  const furthest = search(life, keys, true);
  if (furthest === undefined) return;
  const isEarly = search(life, keys, false) === undefined;
  const why = isEarly
    ? 'S5: an answer left before what it tells was stored'
    : 'S2: no serial order explains the answers';
  assert(false, `${why}: ${describe(life, furthest)}`);
}

/** Undefined when there is an order; else how far the best one gets. */
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
    stack.push(...placesAfter(life, place, { keys, isBounded }));
  }
  return furthest;
}

interface SearchOptions {
  readonly keys: OrderKeys;
  readonly isBounded: boolean;
}

/** The likeliest one last. */
function placesAfter(
  life: SetsLife,
  { position, done: allDone }: Place,
  { keys, isBounded }: SearchOptions,
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
    const latest = isBounded ? storedAfter(answer) : Number.POSITIVE_INFINITY;
    if (position > latest) return []; // it should have been explained before
    if (position < sent.storedBefore) continue;
    const isChange = isChanging(sent);
    if (answer === undefined || explains(sent, before, undefined, keys)) {
      if (!isChange || operation === undefined) return [next]; // what fits here need not wait
      places.unshift(next);
    }
    if (operation === undefined || !isChange || position >= latest) continue;
    if (explains(sent, before, operation, keys))
      places.push({ position: position + 1, done: next.done });
  }
  return places;
}

function isChanging({ words }: Sent): boolean {
  return words.some(([name = '']) => CHANGING.test(name));
}

function storedAfter(answer: Sent['answer']): number {
  return answer?.storedAfter ?? Number.POSITIVE_INFINITY;
}

function isRefused({ answer }: Sent): boolean {
  return answer?.replies.at(-1)?.type === '-';
}

/** Whether the command, run on plain sets, gives the answer that was given and the operation that was written. */
function explains(
  sent: Sent,
  before: PlainSets,
  operation: PlainOperation | undefined,
  keys: OrderKeys,
): boolean {
  const plain = new PlainCommands(before);
  const replies = repliesOf(sent);
  for (const [index, words] of sent.words.entries()) {
    const reply = replies?.[index];
    const expected = versionReply(words[0], before, keys) ?? plain.run(words, { reply, operation });
    if (reply === undefined) continue;
    if (replyText(reply, ORDERED.has(words[0] ?? '')) !== expected) return false;
  }
  const { adds, removes } = plain.effect;
  return isSame(adds, operation?.added ?? []) && isSame(removes, operation?.removed ?? []);
}

/** One per command; undefined when they are not known. */
function repliesOf(sent: Sent): readonly RespReply[] | undefined {
  if (isRefused(sent)) return undefined;
  return sent.isTransaction ? sent.answer?.replies.at(-1)?.items : sent.answer?.replies;
}

function versionReply(
  name: string | undefined,
  sets: PlainSets,
  keys: OrderKeys,
): string | undefined {
  if (name === 'SYNCLINE.VV') return `$${String(sets.version)}`;
  if (name !== 'SYNCLINE.DIGEST') return undefined;
  const [count, ...words] = sets.digest(keys).split(':').map(Number);
  const xor = words.map((word) => word.toString(16).padStart(8, '0')).join('');
  return `[$${String(sets.version)} :${count} $${xor}]`;
}

type Element = readonly [set: string, member: string, ...unknown[]];

function isSame(elements: readonly string[], others: readonly Element[]): boolean {
  if (elements.length !== others.length) return false;
  const names = new Set(elements);
  return others.every(([set, member]) => names.has(`${set}/${member}`));
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
  const sets = life.steps[position]?.sets;
  const next = life.steps[position + 1]?.operation;
  const waiting = life.connections.flatMap((sent, connection) => {
    const command = sent[done[connection] ?? 0];
    return command === undefined ? [] : [describeSent(command)];
  });
  const written =
    next === undefined
      ? 'nothing'
      : `adds [${namesOf(next.added)}], removes [${namesOf(next.removed)}]`;
  const content = sets?.lines().join(', ').slice(0, SHOWN_BYTES_MAX);
  return `at ${String(sets?.version)} with [${content}] the next operation ${written}; ${waiting.join('; ')}`;
}

function namesOf(elements: readonly Element[]): string {
  const names = elements.map(([set, member]) => `${set}/${member}`);
  return names.join(' ').slice(0, SHOWN_BYTES_MAX);
}

function describeSent(sent: Sent): string {
  const reply = sent.answer?.replies.at(-1);
  const text = reply === undefined ? 'no answer' : replyText(reply, true).slice(0, SHOWN_BYTES_MAX);
  return `${describeCommand(sent)} got ${text}`;
}
