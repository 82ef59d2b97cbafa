// Whether a command, run on plain sets, gives the answer that was given and the operation that was written.
import type { RibltKey } from '@syncline/riblt';
import { digestText } from '../digest-text.js';
import { PlainSets } from '../plain-sets.js';
import { type RespReply, replyText } from '../resp-replies.js';
import type { Sent } from '../sets-life.js';
import { type SetsStep, versionText } from '../sets-step.js';

/** Lists of these have an order. */
const ORDERED = new Set(['SMISMEMBER', 'SYNCLINE.DIGEST']);

/** An error: the command may have been undone, or may have come too late for its client. */
export function isRefused({ answer }: Sent): boolean {
  return answer?.replies.at(-1)?.type === '-';
}

/** `after` is undefined where no operation was written. */
export function explains(sent: Sent, { before, after, digestKey }: ExplainedSteps): boolean {
  const operation = after?.operation;
  const plain = new PlainSets(before.content.keys());
  const replies = repliesOf(sent);
  for (const [index, words] of sent.words.entries()) {
    const reply = replies?.[index];
    const expected =
      versionReply(words[0], before, digestKey) ?? plain.run(words, { reply, operation });
    if (reply === undefined) continue;
    if (replyText(reply, ORDERED.has(words[0] ?? '')) !== expected) return false;
  }
  const { adds, removes } = plain.effect;
  return same(adds, operation?.adds ?? []) && same(removes, operation?.removes ?? []);
}

export interface ExplainedSteps {
  readonly before: SetsStep;
  readonly after: SetsStep | undefined;
  readonly digestKey: RibltKey;
}

/** One per command; undefined when they are not known. */
function repliesOf(sent: Sent): readonly RespReply[] | undefined {
  if (isRefused(sent)) return undefined;
  return sent.isTransaction ? sent.answer?.replies.at(-1)?.items : sent.answer?.replies;
}

function versionReply(name: string | undefined, step: SetsStep, digestKey: RibltKey) {
  if (name === 'SYNCLINE.VV') return `$${versionText(step)}`;
  if (name !== 'SYNCLINE.DIGEST') return undefined;
  const [count, xor] = digestText(step.content.values(), digestKey).split(' ');
  return `[$${versionText(step)} :${count} $${xor}]`;
}

function same(some: readonly string[], others: readonly string[]): boolean {
  return some.toSorted().join() === others.toSorted().join();
}
