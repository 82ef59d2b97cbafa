// The messages on a stream and their effect on the view: the rules of sharing, without streams, timers or
// states, which belong to StateClient. There are two: NamedExchange for our own contract, and SeedExchange for
// servers that only know the plain one.
import type { SyncRequest, SyncResponse, Welcome } from '../wire/sync-messages.js';

/** Processes the request immediately; its columns are reused. */
export type SendRequest = (request: SyncRequest) => void;

export type ExchangeEvent =
  | { readonly kind: 'welcomed'; readonly welcome: Welcome | undefined }
  /** The whole round in flight was acknowledged. */
  | { readonly kind: 'acked' }
  /** The last message of a snapshot has arrived. */
  | { readonly kind: 'snapshot' }
  /** Both structures have received their snapshots on this stream. */
  | { readonly kind: 'synced' }
  | { readonly kind: 'stale' };

export interface Exchange {
  /** The epoch of the state that the view is based on; 0 for none. */
  readonly epoch: number;
  /** Instances that share the state, including this one; 1 if unknown. */
  readonly activeInstances: number;
  /** Sends the first message of a new stream. */
  begin(send: SendRequest): readonly ExchangeEvent[];
  receive(response: SyncResponse, send: SendRequest): readonly ExchangeEvent[];
  /** Requests the structures that were not requested on this stream. */
  fetchNew(send: SendRequest): void;
  /** Sends pending outcomes, if a round may begin. */
  flush(send: SendRequest): void;
  /** The service will never accept the round in flight. */
  rejectRound(): void;
  /** Drops everything pending. Returns the number of cells. */
  dropAll(): number;
}
