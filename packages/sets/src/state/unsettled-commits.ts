// The commits that are not stored yet: one that is being gathered, and those that are being written.
//
// A failed write takes everything with it that was applied on top, since later commands may have seen it.
// Numbers go back with it: in the journal they have no holes.
//
// S7  After a failed write memory is as it was before that commit.
import { assert } from '@syncline/kernel';
import type { AppliedVersion } from './applied-version.js';
import { CommitUndo } from './commit-undo.js';
import type { ElementChanges } from './element-changes.js';

export interface UnsettledCommitsDeps {
  readonly changes: ElementChanges;
  readonly version: AppliedVersion;
}

export class UnsettledCommits {
  readonly #deps: UnsettledCommitsDeps;
  readonly #unsettled: CommitUndo[] = [];
  readonly #spare: CommitUndo[] = [];

  constructor(deps: UnsettledCommitsDeps) {
    this.#deps = deps;
  }

  /** The number of the commit that is being gathered. */
  get gatheringNumber(): number {
    return this.#deps.changes.commit.number;
  }

  /** The last commit that is stored, and all before it. */
  get settledNumber(): number {
    return (this.#unsettled[0]?.number ?? this.gatheringNumber) - 1;
  }

  /** The commit that was being gathered is complete. */
  close(): void {
    const { changes } = this.#deps;
    const { commit } = changes;
    this.#unsettled.push(commit);
    const next = this.#spare.pop() ?? new CommitUndo(0);
    next.clear(commit.number + 1);
    changes.useCommit(next);
  }

  settled(number: number): void {
    for (;;) {
      const commit = this.#unsettled[0];
      if (commit === undefined || commit.number > number) return;
      this.#unsettled.shift();
      this.#deps.changes.forget(commit);
      this.#spare.push(commit);
    }
  }

  undoFrom(number: number): void {
    const { changes } = this.#deps;
    assert(number > this.settledNumber, 'S7: what is stored is not taken back');
    assert(number <= this.gatheringNumber, 'a commit that is taken back was made');
    while (this.gatheringNumber > number) {
      this.#undo(changes.commit);
      this.#spare.push(changes.commit);
      const previous = this.#unsettled.pop();
      assert(previous !== undefined, 'commits have no holes');
      changes.useCommit(previous);
    }
    this.#undo(changes.commit);
    changes.useCommit(changes.commit);
  }

  #undo(commit: CommitUndo): void {
    const { changes, version } = this.#deps;
    changes.undo(commit);
    for (const { actor, counter } of commit.versions.toReversed()) version.restore(actor, counter);
    for (const dependencies of commit.dependencies) version.giveBackDependencies(dependencies);
    commit.clear(commit.number);
  }
}
