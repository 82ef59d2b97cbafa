// All operations of a cluster of sets, and the state that they imply for each node.
//
// Every operation is recorded in the order in which it reaches a log, so causes come before effects. The state that a
// node must show at a version is the result of applying the covered operations to plain sets.
import { assert, type Dot, formatDot, type VersionVector } from '@syncline/kernel';
import {
  createOrderKeys,
  type PlainOperation,
  PlainSets,
  plainByProtobuf,
} from '@syncline/sets/testing';

export const CLUSTER_ID = 'sim';
const KEYS = createOrderKeys(CLUSTER_ID);

export class ClusterHistory {
  readonly #operations: PlainOperation[] = [];
  readonly #stored = new Set<PlainOperation>();
  /** By `node.epoch:counter` of the first counter. */
  readonly #known = new Map<string, string>();
  readonly #decoded = new Map<string, readonly PlainOperation[]>();
  readonly #elements = new Map<string, string>();
  /** The last state that a node has shown. */
  readonly #shown = new Map<string, PlainSets>();
  /** Digests by version. */
  readonly #digests = new Map<string, string>();
  /** What was acknowledged to clients. */
  readonly acknowledged: Dot[] = [];

  get operationsCount(): number {
    return this.#operations.length;
  }

  /** Nodes store the operations of peers byte for byte, so most records are decoded once for all of them. */
  decode(body: Uint8Array): readonly PlainOperation[] {
    const key = Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1');
    const operations = this.#decoded.get(key) ?? [...plainByProtobuf(body)];
    this.#decoded.set(key, operations);
    return operations;
  }

  /** An operation is in the log of a node: the one that made it, or another. */
  stored(operation: PlainOperation): void {
    if (this.#stored.has(operation)) return;
    this.#stored.add(operation);
    const name = formatDot({ actor: operation.actor, counter: operation.base });
    const text = JSON.stringify(operation);
    const known = this.#known.get(name);
    assert(
      known === undefined || known === text,
      `S3: the operation ${name} was a different one before`,
    );
    if (known !== undefined) return;
    this.#known.set(name, text);
    this.#operations.push(operation);
    for (const [set, member, counter] of operation.added) {
      const dot = formatDot({ actor: operation.actor, counter });
      assert(!this.#elements.has(dot), `S3: the dot ${dot} names two elements`);
      this.#elements.set(dot, `${set}/${member}`);
    }
  }

  /** `liveDots xor` as SYNCLINE.DIGEST shows it. */
  check(node: string, version: VersionVector, shown: string): void {
    const text = version.toString();
    const before = this.#digests.get(text);
    assert(
      before === undefined || before === shown,
      `S1: ${node} shows ${shown} at ${text}, not ${before}`,
    );
    this.#digests.set(text, shown);
    if (before !== undefined) return;
    const expected = this.#digestAt(node, version);
    assert(shown === expected, `S2: ${node} shows ${shown} at ${text}, not ${expected}`);
  }

  /** Continues from the state that the node showed last, unless it has lost part of it since. */
  #digestAt(node: string, version: VersionVector): string {
    const before = this.#shown.get(node);
    const isOlder = before !== undefined && version.dominates(before.version);
    const sets = isOlder ? before.copy() : new PlainSets();
    for (const operation of this.#operations) {
      const { actor, base, count } = operation;
      const last = base + count - 1;
      const covered = version.counterOf(actor);
      assert(covered >= last || covered < base, 'S4: a version ends within an operation');
      if (covered >= last && (!isOlder || before.version.counterOf(actor) < last))
        sets.apply(operation);
    }
    if (!sets.version.equals(version)) {
      const made = sets.version.toString();
      assert(
        false,
        `S4: a version covers operations that were never made: ${version.toString()}, not ${made}`,
      );
    }
    this.#shown.set(node, sets.copy());
    const [liveDots, ...xor] = sets.digest(KEYS).split(':').map(Number);
    return `${liveDots} ${xor.map((word) => word.toString(16).padStart(8, '0')).join('')}`;
  }
}
