// What all nodes of a cluster have ever written, and what must follow from it.
//
// An operation is known from the moment its node hands it to the log. What a node shows is then a function of its
// version alone: the adds that the version covers, without the dots that covered operations have dropped.
//
// S1  Equal versions mean equal digests, over all nodes and all times.
// S2  What a node shows is what the operations in its version add up to.
// S3  A dot names one element for ever.
// S4  A version ends between two operations of an actor, and covers what these depend on.
// S6  What was acknowledged is in the version of every node in the end.
import {
  type ActorId,
  actorId,
  assert,
  dot as dotOf,
  formatActor,
  formatDot,
  VersionVector,
} from '@syncline/kernel';
import { ribltHash } from '@syncline/riblt';
import { type OrderKeys, type PlainOperation, plainByProtobuf } from '@syncline/sets/testing';

export class MeshHistory {
  readonly #keys: OrderKeys;
  /** Of each actor, by their counters. */
  readonly #operations = new Map<ActorId, PlainOperation[]>();
  readonly #elements = new Map<string, string>();
  /** By version, what was shown there. */
  readonly #digests = new Map<string, string>();
  /** The highest counter that was acknowledged to a client, of each actor. */
  readonly #acknowledged = new Map<ActorId, number>();

  constructor(keys: OrderKeys) {
    this.#keys = keys;
  }

  get operationsCount(): number {
    let count = 0;
    for (const operations of this.#operations.values()) count += operations.length;
    return count;
  }

  /** A record reaches the log of a node. Gives back how to forget it, should the disk refuse it. */
  appending(nodeId: number, body: Uint8Array): () => void {
    const made = plainByProtobuf(body).filter(({ actor }) => actor >>> 16 === nodeId);
    for (const operation of made) this.#make(operation);
    return () => {
      for (const operation of made.toReversed()) this.#unmake(operation);
    };
  }

  #make(operation: PlainOperation): void {
    const { actor, base, count, added } = operation;
    const operations = this.#operations.get(actor) ?? [];
    this.#operations.set(actor, operations);
    const last = operations.at(-1);
    const next = last === undefined ? 1 : last.base + last.count;
    assert(base === next, `S3: ${formatActor(actor)}:${base} follows ${next - 1}`);
    operations.push(operation);
    for (let n = 0; n < count; n += 1) {
      const dot = formatDot(dotOf(actor, base + n));
      const element = added[n]?.slice(0, 2).join('/') ?? 'a remove';
      const earlier = this.#elements.get(dot);
      assert(earlier === undefined, `S3: the dot ${dot} of ${element} was already ${earlier}`);
      this.#elements.set(dot, element);
    }
  }

  #unmake({ actor, base, count }: PlainOperation): void {
    this.#operations.get(actor)?.pop();
    for (let n = 0; n < count; n += 1) this.#elements.delete(formatDot(dotOf(actor, base + n)));
  }

  acknowledged(actor: ActorId, counter: number): void {
    this.#acknowledged.set(actor, Math.max(counter, this.#acknowledged.get(actor) ?? 0));
  }

  /** A loss of power may take what was answered before it was synced. */
  mayLose(actor: ActorId | undefined): void {
    if (actor !== undefined) this.#acknowledged.delete(actor);
  }

  /** A node has shown its version and its digest: `liveDots xor`. */
  shown(node: string, text: string, digest: string): void {
    const known = this.#digests.get(text);
    if (known !== undefined) {
      assert(known === digest, `S1: ${node} at ${text} has ${digest}, another had ${known}`);
      return;
    }
    const expected = this.#digestAt(node, versionOf(text));
    assert(
      expected === digest,
      `S2: ${node} at ${text} has ${digest}, its operations give ${expected}`,
    );
    this.#digests.set(text, digest);
  }

  checkAcknowledged(version: VersionVector): void {
    for (const [actor, counter] of this.#acknowledged) {
      const covered = version.counterOf(actor);
      assert(
        covered >= counter,
        `S6: ${formatDot(dotOf(actor, counter))} was acknowledged, ${covered} is left`,
      );
    }
  }

  #digestAt(node: string, version: VersionVector): string {
    const covered = version.entries().flatMap(({ actor, counter }) => {
      const operations = (this.#operations.get(actor) ?? []).filter(({ base }) => base <= counter);
      const last = operations.at(-1);
      const end = last === undefined ? 0 : last.base + last.count - 1;
      assert(end === counter, `S4: ${node} covers ${formatDot(dotOf(actor, counter))}, not ${end}`);
      return operations;
    });
    const dropped = new Set<string>();
    for (const operation of covered) {
      for (const dot of operation.dropped) dropped.add(dot);
      const isCovered = version.dominates(versionOf(operation.dependencies));
      assert(isCovered, `S4: ${node} at ${String(version)} lacks ${operation.dependencies}`);
    }
    const hash = new Uint32Array(2);
    const xor = new Uint32Array(2);
    let liveDots = 0;
    for (const { actor, added } of covered) {
      for (const [, , counter] of added) {
        if (dropped.has(formatDot(dotOf(actor, counter)))) continue;
        liveDots += 1;
        ribltHash(this.#keys.riblt, [actor, Math.floor(counter / 2 ** 32), counter], hash);
        xor[0] = (xor[0] ?? 0) ^ (hash[0] ?? 0);
        xor[1] = (xor[1] ?? 0) ^ (hash[1] ?? 0);
      }
    }
    const words = [...xor].map((word) => word.toString(16).padStart(8, '0'));
    return `${liveDots} ${words.join('')}`;
  }
}

/** From `node.epoch:counter,…`; `-` is the empty one. */
function versionOf(text: string): VersionVector {
  const dots = text.matchAll(/(\d+)\.(\d+):(\d+)/g);
  return VersionVector.of(
    ...Array.from(dots, ([, node, epoch, counter]) =>
      dotOf(actorId(Number(node), Number(epoch)), Number(counter)),
    ),
  );
}
