// What it takes to undo one commit: the dots that its changes replaced, and how far the version was.
import type { Dot, VersionVector } from '@syncline/kernel';
import { UndoLog } from './undo-log.js';

export class CommitUndo {
  readonly elements = new UndoLog();
  /** Actors that it moved, each with its counter before; in order. A counter of 0 means none. */
  readonly versions: { readonly actor: Dot['actor']; readonly counter: number }[] = [];
  /** What its operations have named as their dependencies. */
  readonly dependencies: VersionVector[] = [];
  number: number;

  constructor(number: number) {
    this.number = number;
  }

  /** No operation was made: each moves an actor. */
  get isEmpty(): boolean {
    return this.versions.length === 0;
  }

  clear(number: number): void {
    this.number = number;
    this.elements.truncate(0);
    this.versions.length = 0;
    this.dependencies.length = 0;
  }
}
