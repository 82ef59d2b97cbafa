// What is said on a stream, and what becomes of the view: the rules of sharing without streams, timers
// or states, which are StateClient's. There are two: NamedExchange for our own contract, and SeedExchange
// for servers that know the plain one alone.
import type { SyncRequest, SyncResponse, Welcome } from '../wire/sync-messages.js';

/** Takes the request at once; its columns are used again. */
export type SendRequest = (request: SyncRequest) => void;

export type ExchangeEvent =
  | { readonly kind: 'welcomed'; readonly welcome: Welcome | undefined }
  /** The whole round in flight was acknowledged. */
  | { readonly kind: 'acked' }
  /** The last message of a snapshot is in. */
  | { readonly kind: 'snapshot' }
  /** Both structures have had their snapshots on this stream. */
  | { readonly kind: 'synced' }
  | { readonly kind: 'stale' };

export interface Exchange {
  /** Of the state that the view is made of; 0 for none. */
  readonly epoch: number;
  /** Instances that share the state, ourselves included; 1 if we were never told. */
  readonly activeInstances: number;
  /** A new stream: what is said first. */
  begin(send: SendRequest): readonly ExchangeEvent[];
  receive(response: SyncResponse, send: SendRequest): readonly ExchangeEvent[];
  /** Asks for the structures that have not been asked for on this stream. */
  fetchNew(send: SendRequest): void;
  /** Sends what is unsent, if a round may begin. */
  flush(send: SendRequest): void;
  /** The service will never take the round in flight. */
  rejectRound(): void;
  /** Gives up all that is pending. Returns of how many cells. */
  dropAll(): number;
}
