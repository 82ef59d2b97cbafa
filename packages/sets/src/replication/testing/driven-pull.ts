// A pull between two states, controlled by a test: no clock, no disk, no mesh.
import { applyOperation } from '../../engine/operations.js';
import type { SetsState } from '../../engine/sets-state.js';
import type { DrivenState } from '../../engine/testing/driven-state.js';
import { decodeOperations } from '../../operation/decode-operations.js';
import type { DotDifferences } from '../missed-removes.js';
import { Payload } from '../payload.js';
import { type PullLimits, pullLimits } from '../pull-limits.js';
import { decodePull, encodePull, MessageKind, type PullMessage } from '../pull-messages.js';
import { answerAtOnce, PullServer } from '../pull-server.js';
import { type PullEnd, Puller } from '../puller.js';
import { applyAdds, applyDrops, mergeVersion } from '../repair.js';

export interface DrivenPullOptions {
  readonly limits?: Partial<PullLimits>;
  readonly listing?: boolean;
  /** Called between two steps, to change the states in the meantime. */
  readonly meanwhile?: () => void;
  /** Sees every message, and may damage it. */
  readonly onMessage?: (message: PullMessage) => PullMessage;
}

export interface DrivenPullResult {
  readonly outcome: 'applied' | PullEnd;
  /** Bytes of all messages, by kind. */
  readonly bytes: Readonly<Record<PullMessage['kind'], number>>;
  readonly totalBytes: number;
  readonly differences: DotDifferences;
  readonly isEqual: boolean;
}

/** `to` pulls from `from`. Both must be between turns, and are again afterwards. */
export function drivePull(
  to: SetsState,
  from: SetsState,
  options: DrivenPullOptions = {},
): DrivenPullResult {
  return new DrivenPull(to, from, options).run();
}

class DrivenPull {
  readonly #to: SetsState;
  readonly #from: SetsState;
  readonly #options: DrivenPullOptions;
  readonly #limits: PullLimits;
  readonly #bytes = { open: 0, offer: 0, payload: 0, symbols: 0, more: 0, done: 0 };
  readonly #toServer: PullMessage[] = [];
  readonly #toPuller: PullMessage[] = [];
  readonly #puller: Puller;
  #server: PullServer | undefined;

  constructor(to: SetsState, from: SetsState, options: DrivenPullOptions) {
    this.#to = to;
    this.#from = from;
    this.#options = options;
    this.#limits = { ...pullLimits, ...options.limits };
    const send = (message: PullMessage) => this.#carry(message, this.#toServer);
    const { listing = false } = options;
    this.#puller = new Puller({ state: to, limits: this.#limits, send }, { session: 7, listing });
  }

  run(): DrivenPullResult {
    this.#puller.open();
    let end: PullEnd | 'ready' | undefined;
    while (end === undefined) {
      this.#options.meanwhile?.();
      end = this.#step();
    }
    if (end === 'ready') this.#apply();
    const { isEqual } = this.#puller;
    const differences = this.#puller.differences();
    this.#puller.close();
    this.#server?.close();
    const totalBytes = Object.values(this.#bytes).reduce((sum, each) => sum + each, 0);
    const outcome = end === 'ready' ? 'applied' : end;
    return { outcome, bytes: this.#bytes, totalBytes, differences, isEqual };
  }

  #step(): PullEnd | 'ready' | undefined {
    for (const message of this.#toServer.splice(0)) this.#serve(message);
    const served = this.#server?.step() ?? 'wait';
    for (const message of this.#toPuller.splice(0)) this.#puller.receive(message);
    const pulled = this.#puller.step();
    if (pulled !== 'more' && pulled !== 'wait') return pulled;
    const isQuiet = this.#toServer.length + this.#toPuller.length === 0;
    if (served === 'wait' && pulled === 'wait' && isQuiet)
      throw new Error('the pull makes no progress');
    return undefined;
  }

  #serve(message: PullMessage): void {
    if (message.kind === 'more') this.#server?.receive(message);
    if (message.kind !== 'open') return;
    const send = (answer: PullMessage) => this.#carry(answer, this.#toPuller);
    const answer = answerAtOnce(this.#from, message);
    if (answer !== undefined) send(answer);
    else this.#server = new PullServer({ state: this.#from, limits: this.#limits, send }, message);
  }

  #carry(message: PullMessage, queue: PullMessage[]): void {
    const encoded = encodePull(message);
    this.#bytes[message.kind] += encoded.length;
    const received = decodePull(MessageKind[message.kind], encoded);
    queue.push(this.#options.onMessage?.(received) ?? received);
  }

  #apply(): void {
    this.#options.meanwhile?.();
    const { offer } = this.#puller;
    if (offer === undefined) throw new Error('a pull that is ready had an offer');
    for (const frame of this.#puller.drops())
      run(applyDrops(this.#to, new Payload(frame, 'corrupt')));
    for (const frame of this.#puller.takeFrames())
      run(applyAdds(this.#to, new Payload(frame, 'corrupt')));
    mergeVersion(this.#to, offer.version);
  }
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
