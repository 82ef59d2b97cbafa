// What travels on a stream of fair.state.v1, decoded. proto/fair/state/v1/state.proto is the contract;
// sync-codec.ts turns these values into its bytes and back.
//
// Seeds are full 64-bit numbers. Epochs, sequence numbers, rows, columns and times stay below 2^53; one
// that does not is decoded as Infinity, which no check lets pass.
import type { CellDeltas, Cells } from '../cells.js';

export const WIRE_POLICY = { unspecified: 0, exponential: 1, linear: 2, afd: 3 } as const;
export const WIRE_HASH = { unspecified: 0, keyed: 1, murmur3: 2 } as const;

export type SyncRequest =
  | {
      readonly kind: 'delta-update';
      readonly seed: bigint;
      readonly deltas: CellDeltas;
      readonly seq: number;
      readonly epoch: number;
    }
  | { readonly kind: 'state-request'; readonly seed: bigint }
  | ({ readonly kind: 'hello' } & Hello)
  | { readonly kind: 'view-upload'; readonly seed: bigint; readonly cells: Cells };

export interface Hello {
  readonly tracker: string;
  readonly clientId: string;
  readonly config: WireTrackerConfig;
  /** The epoch of the state that the client holds; 0 if it holds none. */
  readonly lastEpoch: number;
}

/** Enumerations are open numbers, as in protobuf: the service says which it knows. */
export interface WireTrackerConfig {
  readonly levels: number;
  readonly columns: number;
  readonly policy: number;
  readonly ratePerSecond: number;
  readonly windowMs: number;
  readonly hash: number;
  readonly keyCheck: bigint;
  readonly increment: number;
  readonly decrement: number;
}

export interface SyncResponse extends ResponseFields {
  readonly seed: bigint;
  readonly cells: Cells;
}

/** What is a stream's own in a response; the seed and the cells of a round are the same for all. */
export interface ResponseFields {
  /** 0 on streams of the default tracker. */
  readonly epoch: number;
  /** 0 says nothing. */
  readonly ackedSeq: number;
  readonly isSnapshot: boolean;
  /** 0 says nothing. */
  readonly activeInstances: number;
  readonly welcome: Welcome | undefined;
  readonly snapshotEnd: boolean;
}

export interface Welcome {
  readonly epoch: number;
  readonly activeInstances: number;
  readonly serverTimeMs: number;
  readonly wantView: boolean;
  readonly maxElements: number;
}
