// Sits between the service and one stream, reads all messages in both directions, and passes them to the
// checks.
import type { Applied, ChangeId, Namespace, SyncRequest } from '@syncline/fair';
import { decodeSyncRequest, decodeSyncResponse } from '@syncline/fair/testing';
import type { Clock } from '@syncline/kernel';
import type { CellModel } from './cell-model.js';
import { AcksFollowValues } from './checks/acks-follow-values.js';
import { checkSentValues, isLive, type StreamNamespace } from './checks/sent-values.js';

const ELEMENTS_MAX = 8_192;
const LINEAR = 2;

export interface StreamWatchDeps {
  readonly clock: Clock;
  readonly model: CellModel;
  /** Whether the service's wall clock was set: then seeds that were too old to be sent may become current again. */
  readonly isStepped: () => boolean;
}

export class StreamWatch {
  readonly #deps: StreamWatchDeps;
  readonly #acks = new AcksFollowValues();
  #namespace: StreamNamespace;
  #heldEpoch = 0;
  #epoch = 0;
  /** The machine of the client. */
  readonly node: string;
  /** '' until the stream's hello. */
  clientId = '';

  constructor(deps: StreamWatchDeps, node: string, defaultWindowMs: number) {
    this.#deps = deps;
    this.node = node;
    this.#namespace = { name: '', rule: { policy: 'sum' }, windowMs: defaultWindowMs };
  }

  /** The client reconnects to the state that it has seen: it knows which round is in flight. */
  get isSameEpoch(): boolean {
    return this.#epoch !== 0 && this.#heldEpoch === this.#epoch;
  }

  /** Called before the service receives it. */
  received(body: Uint8Array): SyncRequest {
    const request = decodeSyncRequest(body, { elementsMax: ELEMENTS_MAX });
    if (request.kind !== 'hello') return request;
    const { tracker, clientId, config, lastEpoch } = request;
    const policy = config.policy === LINEAR ? 'linear' : 'exponential';
    const rule = { policy, ratePerSecond: config.ratePerSecond } as const;
    this.clientId = clientId;
    this.#heldEpoch = lastEpoch;
    this.#namespace = { name: tracker, rule, windowMs: config.windowMs };
    return request;
  }

  applied(namespace: Namespace, applied: Applied, id: ChangeId): void {
    if (namespace.name === this.#namespace.name && id.clientId === this.clientId)
      this.#acks.applied(id.seq, applied);
  }

  /** Called before the client receives it. */
  written(body: Uint8Array): void {
    const response = decodeSyncResponse(body);
    const { clock } = this.#deps;
    const { windowMs } = this.#namespace;
    this.#epoch = response.welcome?.epoch ?? this.#epoch;
    checkSentValues(this.#deps, this.#namespace, response);
    if (!this.#deps.isStepped()) this.#acks.sent(response, (seed) => isLive(seed, windowMs, clock));
  }
}
