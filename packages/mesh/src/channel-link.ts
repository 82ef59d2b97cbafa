// A connection to a peer, as one channel sees it.
import type { ActorId } from '@syncline/kernel';
import type { ChannelFrame } from './frame-codec.js';

export interface ChannelLink {
  readonly nodeId: number;
  /** The peer's actor. */
  readonly actor: ActorId;
  readonly unsentBytes: number;
  send(frame: ChannelFrame): void;
  sendOperations(chunks: readonly Uint8Array[]): void;
  /** Resolves when few bytes are unsent. Rejects if the connection ends first. */
  whenDrained(): Promise<void>;
  /** Ends the connection because of what was received. */
  refuse(why: string): void;
}
