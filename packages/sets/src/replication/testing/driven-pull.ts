// A pull between two states, driven by hand: no clock, no disk, no mesh.
import { applyOperation } from '../../engine/operations.js';
import type { SetsState } from '../../engine/sets-state.js';
import type { DrivenState } from '../../engine/testing/driven-state.js';
import { decodeOperations } from '../../operation/decode-operations.js';
import { Payload } from '../payload.js';
import { type PullLimits, pullLimits } from '../pull-limits.js';
import { decodePull, encodePull, MessageKind, type PullMessage } from '../pull-messages.js';
import { answerAtOnce, PullServer } from '../pull-server.js';
import { type PullEnd, Puller } from '../puller.js';
import { applyAdds, applyDrops, mergeVersion } from '../repair.js';

export interface DrivenPullOptions {
  readonly limits?: Partial<PullLimits>;
  readonly listing?: boolean;
  /** Called between two steps, to change the states meanwhile. */
  readonly meanwhile?: () => void;
  /** Sees every message, and may damage it. */
  readonly onMessage?: (message: PullMessage) => PullMessage;
}

export interface DrivenPullResult {
  readonly outcome: 'applied' | PullEnd;
  /** Bytes of all messages, by kind. */
  readonly bytes: Readonly<Record<PullMessage['kind'], number>>;
  readonly totalBytes: number;
}

/** `to` pulls from `from`. Both must be between turns, and are again afterwards. */
export function drivePull(
  to: SetsState,
  from: SetsState,
  options: DrivenPullOptions = {},
): DrivenPullResult {
  const limits = { ...pullLimits, ...options.limits };
  const bytes = { open: 0, offer: 0, payload: 0, symbols: 0, more: 0, done: 0 };
  const toServer: PullMessage[] = [];
  const toPuller: PullMessage[] = [];
  const carry = (queue: PullMessage[]) => (message: PullMessage) => {
    const encoded = encodePull(message);
    bytes[message.kind] += encoded.length;
    const received = decodePull(MessageKind[message.kind], encoded);
    queue.push(options.onMessage?.(received) ?? received);
  };
  const listing = options.listing ?? false;
  const puller = new Puller({ state: to, limits, send: carry(toServer) }, { session: 7, listing });
  let server: PullServer | undefined;
  puller.open();
  const finish = (outcome: 'applied' | PullEnd): DrivenPullResult => {
    puller.close();
    server?.close();
    const totalBytes = Object.values(bytes).reduce((sum, each) => sum + each, 0);
    return { outcome, bytes, totalBytes };
  };
  for (;;) {
    options.meanwhile?.();
    for (const message of toServer.splice(0)) {
      if (message.kind === 'open') {
        const answer = answerAtOnce(from, message);
        if (answer !== undefined) carry(toPuller)(answer);
        else server = new PullServer({ state: from, limits, send: carry(toPuller) }, message);
      } else if (message.kind === 'more') {
        server?.receive(message);
      }
    }
    const served = server?.step() ?? 'wait';
    for (const message of toPuller.splice(0)) puller.receive(message);
    const pulled = puller.step();
    if (pulled === 'ready') break;
    if (pulled !== 'more' && pulled !== 'wait') return finish(pulled);
    if (served === 'wait' && pulled === 'wait' && toServer.length === 0 && toPuller.length === 0)
      throw new Error('the pull stands still');
  }
  options.meanwhile?.();
  const offer = puller.offer;
  if (offer === undefined) throw new Error('a pull that is ready had an offer');
  for (const frame of puller.drops()) run(applyDrops(to, new Payload(frame, 'corrupt')));
  for (const frame of puller.takeFrames()) run(applyAdds(to, new Payload(frame, 'corrupt')));
  mergeVersion(to, offer.version);
  return finish('applied');
}

/** What this state has made in its turn; the turn is over afterwards. */
export function settleAndTake(driven: DrivenState): Uint8Array {
  const made = driven.state.record.ownBytes();
  driven.settle();
  return made;
}

/** Applies operations of another state, which must be ready. */
export function receive(state: SetsState, operations: Uint8Array): void {
  for (const operation of decodeOperations(operations)) run(applyOperation(state, operation));
  state.settleTurn();
}

function run(steps: Generator<void, unknown, undefined>): void {
  while (steps.next().done !== true);
}
