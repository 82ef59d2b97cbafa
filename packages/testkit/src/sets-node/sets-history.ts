// All that the process has handed to the disk, over all its lives: which record of the journal holds what,
// and how safe it is.
//
//   being written ─ stored ─▶ safe from a kill ─ synced, or folded ─▶ safe from a loss of power
//        │
//        ├ the disk is full: nothing of it is there, and its number and dots may be used again
//        └ the disk failed, or the process ended: it may turn up at the next start, or not
//
// S3  No dot is made twice, whatever became of its record, unless a full disk refused it.
// S6  A kill takes nothing that was stored, a loss of power nothing that was synced; what is left is a prefix.
import { assert, type Durability, dot as dotOf, formatDot } from '@syncline/kernel';
import { readRecord } from './journal-operation.js';
import { SetsLife } from './sets-life.js';
import { contentText, firstStep, type SetsStep, stepAfter, versionText } from './sets-step.js';
import type { StoredSets } from './stored-sets.js';

export interface JournalWrite {
  readonly number: number;
  readonly bytes: Uint8Array;
}

interface Commit {
  readonly bytes: Buffer;
  readonly steps: readonly SetsStep[];
}

export type LifeEnd = 'kill' | 'power';

export class SetsHistory {
  /** The record with number n stands at n - 1. */
  readonly #commits: Commit[] = [];
  #storedNumber = 0;
  #powerSafeNumber = 0;
  /** From every dot that was ever handed to the disk to its element. */
  readonly #dots = new Map<string, string>();
  life = new SetsLife(firstStep);

  get storedNumber(): number {
    return this.#storedNumber;
  }

  /** The sets after a record of the journal. */
  stepAt(number: number): SetsStep {
    for (let index = number - 1; index >= 0; index -= 1) {
      const step = this.#commits[index]?.steps.at(-1);
      if (step !== undefined) return step;
    }
    return firstStep;
  }

  writing(records: readonly JournalWrite[]): void {
    for (const { number, bytes } of records) {
      assert(number === this.#commits.length + 1, `S6: journal record ${number} leaves a hole`);
      const steps: SetsStep[] = [];
      for (const operation of readRecord(bytes)) {
        const step = stepAfter(steps.at(-1) ?? this.stepAt(number - 1), operation);
        this.#takeDots(step);
        steps.push(step);
      }
      assert(steps.length > 0, `S6: journal record ${number} is empty`);
      this.#commits.push({ bytes: Buffer.from(bytes), steps });
      this.life.steps.push(...steps);
    }
  }

  stored(records: readonly JournalWrite[], durability: Durability): void {
    const last = records.at(-1)?.number ?? 0;
    this.#storedNumber = last;
    this.life.storedCount = this.life.steps.length - 1;
    if (durability === 'synced') this.#powerSafeNumber = last;
  }

  /** `isGone`: nothing of it is on the disk. Else it may be. */
  failed(records: readonly JournalWrite[], isGone: boolean): void {
    const undone = records.flatMap(({ number }) => this.#commits[number - 1]?.steps ?? []);
    this.life.steps.length -= undone.length;
    if (!isGone) return;
    this.#commits.length = (records[0]?.number ?? 1) - 1;
    for (const step of undone) for (const dot of dotsOf(step)) this.#dots.delete(dot);
  }

  folding(number: number): void {
    assert(number <= this.#storedNumber, `S6: record ${number} is folded before it is stored`);
  }

  folded(number: number): void {
    this.#powerSafeNumber = Math.max(this.#powerSafeNumber, number);
  }

  /** What a new process will find. Gives the sets that it must show. */
  recover(stored: StoredSets, end: LifeEnd): { readonly step: SetsStep; readonly lost: number } {
    this.#checkFold(stored);
    let last = stored.foldNumber;
    for (let bytes = stored.journal.get(last + 1); bytes !== undefined; ) {
      const expected = this.#commits[last]?.bytes;
      assert(
        expected?.equals(bytes) === true,
        `S6: journal record ${last + 1} is not the one that was written last under this number`,
      );
      last += 1;
      bytes = stored.journal.get(last + 1);
    }
    const safe = end === 'kill' ? this.#storedNumber : this.#powerSafeNumber;
    assert(last >= safe, `S6: record ${safe} was acknowledged, ${last} is left after a ${end}`);
    const lost = Math.max(0, this.#storedNumber - last);
    this.#commits.length = last;
    this.#storedNumber = last;
    const step = this.stepAt(last);
    this.life = new SetsLife(step);
    return { step, lost };
  }

  #checkFold({ foldNumber, content, version }: StoredSets): void {
    assert(foldNumber <= this.#commits.length, `S6: record ${foldNumber} is folded, it never was`);
    const step = this.stepAt(foldNumber);
    const found = contentText(content);
    const expected = contentText(step.content);
    assert(
      found === expected,
      `S7: at record ${foldNumber} "${found}" is folded, not "${expected}"`,
    );
    const versions = [versionText({ ...step, version }), versionText(step)];
    assert(versions[0] === versions[1], `S4: ${versions[0]} is folded, not ${versions[1]}`);
  }

  #takeDots(step: SetsStep): void {
    const { adds } = step.operation ?? { adds: [] };
    for (const [index, dot] of dotsOf(step).entries()) {
      const element = adds[index] ?? 'a remove';
      const earlier = this.#dots.get(dot);
      assert(earlier === undefined, `S3: the dot ${dot} of ${element} was already ${earlier}`);
      this.#dots.set(dot, element);
    }
  }
}

/** Of all counters that an operation takes. */
function dotsOf({ operation }: SetsStep): readonly string[] {
  if (operation === undefined) return [];
  const { actor, base, count } = operation;
  return Array.from({ length: count }, (_, index) => formatDot(dotOf(actor, base + index)));
}
