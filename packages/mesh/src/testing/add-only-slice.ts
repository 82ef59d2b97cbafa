// The smallest slice that can reveal errors of the mesh: a list of operations that only grows.
//
// It checks each delivery, commits after a delay as a disk does, can undo what it has not committed, can refuse
// for a while, and repairs by requesting all missing operations from a peer. It repairs only when the mesh asks
// for it, or when a peer connects that has something which no node will push: an undetected loss stays a loss.
import {
  type ActorId,
  assert,
  type Clock,
  dot,
  formatDot,
  type Timer,
  VersionVector,
} from '@syncline/kernel';
import type { ChannelHandler, DeliveredOperation, MeshChannel, PullReason } from '../mesh.js';
import { encodedOperation, type OperationHead, readOperationHeads } from '../operation-head.js';
import { encodeOperation } from './encode-operation.js';

/** What survives a crash. */
export interface SliceDisk {
  /** Encoded, in the order in which they were committed. */
  readonly log: Uint8Array[];
  readonly version: VersionVector;
}

export interface AddOnlySliceOptions {
  readonly actor: ActorId;
  /** Time from applying to committing. */
  readonly commitMs: () => number;
  /** Whether this actor belongs to a running process, so that its operations arrive only by pushes. */
  readonly isCurrent: (actor: ActorId) => boolean;
}

interface Uncommitted {
  readonly head: OperationHead;
  readonly isOwn: boolean;
}

const openKind = 11;
const payloadKind = 13;

export class AddOnlySlice implements ChannelHandler {
  /** Given to it once it is registered. */
  channel: MeshChannel | undefined;
  readonly pulls: Record<PullReason, number> = { overflow: 0, gap: 0, evicted: 0 };
  /** Last counters of the operations that this process has made and published. */
  readonly published: number[] = [];
  readonly #clock: Clock;
  readonly #disk: SliceDisk;
  readonly #options: AddOnlySliceOptions;
  #memory: VersionVector;
  #uncommitted: Uncommitted[] = [];
  /** The dependencies of our last operation. */
  #known = new VersionVector();
  #commit: Timer | undefined;
  #isRefusing = false;
  #isRepairUncommitted = false;

  constructor(clock: Clock, disk: SliceDisk, options: AddOnlySliceOptions) {
    this.#clock = clock;
    this.#disk = disk;
    this.#options = options;
    this.#memory = disk.version.copy();
  }

  /** Makes an operation with this many counters. */
  add(count: number, body: Uint8Array): void {
    const { actor } = this.#options;
    const base = this.appliedCounter(actor) + 1;
    const dependencies = VersionVector.of(
      ...this.#memory
        .entries()
        .filter(
          (entry) => entry.actor !== actor && entry.counter > this.#known.counterOf(entry.actor),
        ),
    );
    this.#known = this.#memory.copy();
    this.#apply(encodeOperation({ dot: dot(actor, base), count, dependencies, body }), true);
  }

  /** Accepts nothing until `accept`. */
  refuse(): void {
    this.#isRefusing = true;
  }

  accept(): void {
    this.#isRefusing = false;
    this.channel?.resume();
  }

  /** The disk was full: what was not committed is undone. */
  undo(): void {
    this.#commit?.cancel();
    this.#commit = undefined;
    this.#uncommitted = [];
    this.#memory = this.#disk.version.copy();
    this.#known = new VersionVector(); // the next operation names more than it must, which is harmless
    // What was pushed is the mesh's to bring again, unless a repair relied on it.
    if (!this.#isRepairUncommitted) return;
    this.#isRepairUncommitted = false;
    for (const peer of this.channel?.connectedPeers() ?? []) this.#pull(peer);
  }

  appliedCounter(actor: ActorId): number {
    return this.#memory.counterOf(actor);
  }

  version(): VersionVector {
    return this.#disk.version.copy();
  }

  deliver(operation: DeliveredOperation): 'taken' | 'wait' {
    if (this.#isRefusing) return 'wait';
    this.#apply(encodedOperation(operation), false);
    return 'taken';
  }

  message(peer: number, kind: number, body: Uint8Array): void {
    if (kind === openKind) this.#answer(peer, VersionVector.fromBytes(body));
    else if (kind === payloadKind) this.#repair(body);
  }

  peerUp(peer: number, version: VersionVector): void {
    const isBehind = version
      .entries()
      .some((entry) => !this.#disk.version.covers(entry) && !this.#options.isCurrent(entry.actor));
    if (isBehind) this.#pull(peer);
  }

  peerDown(): void {}

  pullWanted(peer: number, reason: PullReason): void {
    this.pulls[reason] += 1;
    this.#pull(peer);
  }

  #apply(encoded: Uint8Array, isOwn: boolean): void {
    const [head] = readOperationHeads(encoded);
    assert(head !== undefined, 'an operation is delivered whole');
    const { actor, base, last, dependencies } = head;
    const applied = this.appliedCounter(actor);
    assert(
      applied === base - 1,
      `M23: got counter ${base} of actor ${actor}, expected ${applied + 1}`,
    );
    for (const cause of dependencies) {
      if (this.#memory.covers(cause)) continue;
      assert(false, `M23: it depends on ${formatDot(cause)}, which is not applied`);
    }
    this.#memory.advance(actor, last);
    this.#uncommitted.push({ head, isOwn });
    this.#commit ??= this.#clock.setTimer(this.#options.commitMs(), () => this.#commitAll());
  }

  #commitAll(): void {
    this.#commit = undefined;
    const committed = this.#uncommitted;
    this.#uncommitted = [];
    this.#isRepairUncommitted = false;
    for (const { head } of committed) {
      this.#disk.log.push(head.bytes);
      this.#disk.version.advance(head.actor, head.last);
    }
    for (const { head, isOwn } of committed) {
      if (!isOwn) continue;
      this.published.push(head.last);
      this.channel?.publish(head.bytes, head.base, head.last);
    }
    this.channel?.committed();
  }

  #pull(peer: number): void {
    this.channel?.send(peer, openKind, this.#disk.version.toBytes());
  }

  #answer(peer: number, version: VersionVector): void {
    const missing = this.#disk.log.filter((encoded) => {
      const [head] = readOperationHeads(encoded);
      return head !== undefined && head.last > version.counterOf(head.actor);
    });
    if (missing.length > 0) this.channel?.send(peer, payloadKind, Buffer.concat(missing));
  }

  /** Operations come in the order in which the peer has committed them, so each is ready when it is reached. */
  #repair(body: Uint8Array): void {
    for (const head of readOperationHeads(body)) {
      if (head.last > this.appliedCounter(head.actor)) this.#apply(encodedOperation(head), false);
    }
    this.#isRepairUncommitted = this.#uncommitted.length > 0;
    this.channel?.resume();
  }
}
