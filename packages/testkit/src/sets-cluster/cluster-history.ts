// What all nodes of a cluster of sets have made, and what follows from it for each of them.
//
// Every operation that reaches a log is remembered, in that order, which keeps causes before effects. What a node must
// show at a version is then what these operations give, as far as the version covers them, on plain sets.
import { assert, type Dot, formatDot, type VersionVector } from '@syncline/kernel';
import { createOrderKeys, type PlainOperation, PlainSets } from '@syncline/sets/testing';

export const CLUSTER_ID = 'sim';
const KEYS = createOrderKeys(CLUSTER_ID);

export class ClusterHistory {
  readonly #operations: PlainOperation[] = [];
  /** By `node.epoch:counter` of the first counter. */
  readonly #known = new Map<string, string>();
  readonly #elements = new Map<string, string>();
  /** Digests by version. */
  readonly #digests = new Map<string, string>();
  /** What was acknowledged to clients. */
  readonly acknowledged: Dot[] = [];

  get operationsCount(): number {
    return this.#operations.length;
  }

  /** An operation is in the log of a node: of the one that made it, or of another one. */
  stored(operation: PlainOperation): void {
    const name = formatDot({ actor: operation.actor, counter: operation.base });
    const text = JSON.stringify(operation);
    const known = this.#known.get(name);
    assert(
      known === undefined || known === text,
      `S3: the operation ${name} was another one before`,
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
    const expected = this.#digestAt(version);
    assert(shown === expected, `S2: ${node} shows ${shown} at ${text}, not ${expected}`);
  }

  #digestAt(version: VersionVector): string {
    const sets = new PlainSets();
    for (const operation of this.#operations) {
      const { actor, base, count } = operation;
      const isCovered = version.counterOf(actor) >= base + count - 1;
      assert(
        isCovered || version.counterOf(actor) < base,
        'S4: a version ends within an operation',
      );
      if (isCovered) sets.apply(operation);
    }
    assert(
      sets.version.equals(version),
      `S4: a version covers what nobody has made: ${version.toString()}, not ${sets.version.toString()}`,
    );
    const [liveDots, ...xor] = sets.digest(KEYS).split(':').map(Number);
    return `${liveDots} ${xor.map((word) => word.toString(16).padStart(8, '0')).join('')}`;
  }
}
