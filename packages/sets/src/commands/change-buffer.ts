// Gathers changes that were found by walking, and applies them behind the closed gate.
//
// What fits into one operation is one operation, so nobody sees it half done. Once it does not fit, it will
// be several in any case; then small ones, each of which holds the event loop for a short time only.
import type { GateHold, Keyspace, KeyspaceView } from '../keyspace.js';
import { setsLimits } from '../limits.js';
import { ByteCollector } from './byte-collector.js';
import { inOneOperation } from './one-operation.js';

/** What an element costs in an operation besides its bytes: its dot, tags and lengths. */
export const ELEMENT_EXTRA_BYTES = 16;
/** Leaves room for elements that had several dots. */
export const CHANGE_BYTES_MAX = setsLimits.operationBytesMax.value * 0.75;
/** Elements of one operation where there are several in any case. */
export const PART_ELEMENTS = 4_096;

interface Run {
  readonly kind: 'add' | 'remove';
  readonly set: Uint8Array;
  /** Where the name and the members stand in the list. */
  readonly key: number;
  readonly from: number;
  to: number;
}

export class ChangeBuffer {
  readonly #keyspace: Keyspace;
  readonly #hold: GateHold;
  readonly #words = new ByteCollector();
  #runs: Run[] = [];
  #isSplit = false;
  #added = 0;

  constructor(deps: { readonly keyspace: Keyspace; readonly hold: GateHold }) {
    this.#keyspace = deps.keyspace;
    this.#hold = deps.hold;
  }

  /** Members that were absent and are added. Complete after `finish`. */
  get added(): number {
    return this.#added;
  }

  /** Undefined: go on. Members of one set come with one and the same name object. */
  push(kind: Run['kind'], set: Uint8Array, member: Uint8Array): Promise<void> | undefined {
    const list = this.#words.list;
    let run = this.#runs.at(-1);
    if (run === undefined || run.kind !== kind || run.set !== set) {
      const key = this.#words.pushBytes(set);
      run = { kind, set, key, from: list.length, to: list.length };
      this.#runs.push(run);
    }
    this.#words.pushBytes(member);
    run.to = list.length;
    return this.#isFull() ? this.#applyInParts() : undefined;
  }

  /** All members that a view shows of a set. */
  async removeAll(view: KeyspaceView, set: Uint8Array): Promise<void> {
    for await (const batch of view.members(set)) {
      for (const member of batch) await this.push('remove', set, member);
      await this.#keyspace.breathe();
    }
  }

  /** Applies what is still held. */
  async finish(): Promise<void> {
    if (this.#isSplit) return this.#applyInParts();
    inOneOperation(this.#keyspace, () => {
      for (const run of this.#runs) this.#apply(run, run.from, run.to);
    });
    this.#forget();
  }

  #isFull(): boolean {
    const elements = this.#words.list.length;
    return (
      elements >= setsLimits.operationElementsMax.value ||
      this.#words.bytes + elements * ELEMENT_EXTRA_BYTES >
        CHANGE_BYTES_MAX - setsLimits.memberBytesMax.value
    );
  }

  async #applyInParts(): Promise<void> {
    this.#isSplit = true;
    for (const run of this.#runs) {
      for (let from = run.from; from < run.to; from += PART_ELEMENTS) {
        this.#apply(run, from, Math.min(run.to, from + PART_ELEMENTS));
        const pause = this.#hold.room() ?? this.#keyspace.breathe();
        if (pause !== undefined) await pause;
      }
    }
    this.#forget();
  }

  #apply({ kind, key }: Run, from: number, to: number): void {
    const { list } = this.#words;
    if (kind === 'add') this.#added += this.#keyspace.add(list, key, from, to);
    else this.#keyspace.remove(list, key, from, to);
  }

  #forget(): void {
    this.#words.clear();
    this.#runs = [];
  }
}
