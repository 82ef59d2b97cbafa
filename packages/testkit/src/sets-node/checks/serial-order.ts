// The answers of one life agree with some serial order of its commands, and each operation in the journal is
// what one of them had to write.
//
// The journal gives the order of the operations, so what is searched for is only where each command stands
// between them. A command that was answered saw no more than what was stored by then, which is S5; and one
// that was sent later saw at least that, so the order is the one that clients observe. Commands without an
// answer, and those that were refused, may have written their operation or not.

import { assert } from '@syncline/kernel';
import type { RibltKey } from '@syncline/riblt';
import { replyText } from '../resp-replies.js';
import type { Sent, SetsLife } from '../sets-life.js';
import { versionText } from '../sets-step.js';
import { explains, isRefused } from './explains.js';

const CHANGING = /^(SADD|SREM|SMOVE|SPOP|DEL|FLUSHALL|S[A-Z]+STORE)$/;

interface Place {
  /** Operations that are explained. */
  readonly position: number;
  /** Commands of each client that are explained. */
  readonly done: readonly number[];
}

export function checkSerialOrder(life: SetsLife, digestKey: RibltKey): void {
  const furthest = search(life, digestKey, true);
  if (furthest === undefined) return;
  const isEarly = search(life, digestKey, false) === undefined;
  assert(
    !isEarly,
    `S5: an answer left before what it tells was stored: ${describe(life, furthest)}`,
  );
  assert(false, `S2: no serial order explains the answers: ${describe(life, furthest)}`);
}

/** Undefined when there is an order; else how far the best one gets. */
function search(life: SetsLife, digestKey: RibltKey, isBounded: boolean): Place | undefined {
  const first: Place = { position: 0, done: life.clients.map(() => 0) };
  const stack = [first];
  const seen = new Set<string>();
  let furthest = first;
  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    const key = `${place.position}:${place.done.join()}`;
    if (seen.has(key)) continue;
    seen.add(key);
    if (isComplete(life, place)) return undefined;
    if (progressOf(place) > progressOf(furthest)) furthest = place;
    stack.push(...placesAfter(life, place, { digestKey, isBounded }));
  }
  return furthest;
}

interface SearchOptions {
  readonly digestKey: RibltKey;
  readonly isBounded: boolean;
}

/** The likeliest one last. */
function placesAfter(life: SetsLife, place: Place, options: SearchOptions): readonly Place[] {
  const { position } = place;
  const places: Place[] = [];
  for (const [client, done] of place.done.entries()) {
    const sent = life.clients[client]?.[done];
    if (sent === undefined) continue;
    const latest = sent.answer?.storedAfter ?? Number.POSITIVE_INFINITY;
    if (options.isBounded && position > latest) return []; // it should have been explained before
    if (position < sent.storedBefore) continue;
    const isOpen = sent.answer === undefined || isRefused(sent);
    const before = life.steps[position];
    const after = life.steps[position + 1];
    if (before === undefined) continue;
    const steps = { before, digestKey: options.digestKey };
    const next = { position, done: place.done.with(client, done + 1) };
    if (isOpen || explains(sent, { ...steps, after: undefined })) {
      if (!isChange(sent)) return [next]; // a read that fits here need not wait
      places.unshift(next);
    }
    const isInTime = !options.isBounded || position < latest;
    if (after !== undefined && isInTime && isChange(sent) && explains(sent, { ...steps, after }))
      places.push({ position: position + 1, done: next.done });
  }
  return places;
}

function isChange({ words }: Sent): boolean {
  return words.some(([name = '']) => CHANGING.test(name));
}

function isComplete(life: SetsLife, { position, done }: Place): boolean {
  if (position < life.steps.length - 1) return false;
  return life.clients.every((sent, client) =>
    sent.slice(done[client]).every(({ answer }) => answer === undefined),
  );
}

function progressOf({ position, done }: Place): number {
  return position + done.reduce((sum, count) => sum + count, 0);
}

function describe(life: SetsLife, { position, done }: Place): string {
  const step = life.steps[position];
  const content = [...(step?.content.keys() ?? [])].sort().join(' ');
  const next = life.steps[position + 1]?.operation;
  const waiting = life.clients.flatMap((sent, client) => {
    const command = sent[done[client] ?? 0];
    return command === undefined ? [] : [describeSent(command)];
  });
  const written =
    next === undefined
      ? 'nothing'
      : `adds [${next.adds.join(' ')}], removes [${next.removes.join(' ')}]`;
  return `at ${step && versionText(step)} with [${content}] the next operation ${written}; ${waiting.join('; ')}`;
}

function describeSent({ words, answer }: Sent): string {
  const text = words.map((command) => command.join(' ')).join(', ');
  const reply = answer?.replies.at(-1);
  return `${text} got ${reply === undefined ? 'no answer' : replyText(reply, true)}`;
}
