// For each actor, the highest counter that is applied here, and which of them our next operation must name.
//
// Unlike a version vector it can go back: nothing of an undone turn has left this process. The counter of our own
// actor, which every operation advances, is kept apart.
//
// S3  A counter is used once, unless its turn was undone before anything left the process.
// S4  Every live dot is covered, and counters have no gaps.
import { type ActorId, assert, dot, VersionVector } from '@syncline/kernel';

export class AppliedVersion {
  readonly #others = new Map<ActorId, number>();
  /** Actors whose counter moved since our last operation. */
  readonly #unnamed = new Set<ActorId>();
  #own: ActorId | undefined;
  ownCounter = 0;

  /** The version of a checkpoint. Called before the first change. */
  load(start: VersionVector): void {
    for (const { actor, counter } of start.entries()) this.#others.set(actor, counter);
  }

  get own(): ActorId {
    assert(this.#own !== undefined, 'the actor is set before the first change');
    return this.#own;
  }

  useActor(actor: ActorId): void {
    assert(this.#own === undefined, 'the actor is set once');
    this.#own = actor;
    this.ownCounter = this.#others.get(actor) ?? 0;
    this.#others.delete(actor);
    this.#unnamed.delete(actor); // after a clean stop the log holds operations of this very actor
    // It is not known what the last operation of an earlier run had named.
    for (const other of this.#others.keys()) this.#unnamed.add(other);
  }

  /** From now on operations are made by another actor, which no node has seen yet. */
  changeActor(actor: ActorId): void {
    const before = this.own;
    const counter = this.ownCounter;
    assert(this.counterOf(actor) === 0, 'S3: a new actor has made nothing');
    this.#own = actor;
    this.ownCounter = 0;
    if (counter === 0) return;
    this.#others.set(before, counter);
    this.#unnamed.add(before);
  }

  counterOf(actor: ActorId): number {
    return actor === this.#own ? this.ownCounter : (this.#others.get(actor) ?? 0);
  }

  advance(actor: ActorId, counter: number): void {
    assert(counter > this.counterOf(actor), 'S3: counters only rise');
    this.restore(actor, counter);
    if (actor !== this.#own) this.#unnamed.add(actor);
  }

  advanceOwn(counter: number): void {
    assert(counter > this.ownCounter, 'S3: counters only rise');
    this.ownCounter = counter;
  }

  /** Resets an actor to where it was before an undone turn. */
  restore(actor: ActorId, counter: number): void {
    if (actor === this.#own) {
      this.ownCounter = counter;
    } else if (counter > 0) {
      this.#others.set(actor, counter);
    } else {
      this.#others.delete(actor);
      this.#unnamed.delete(actor);
    }
  }

  /** What our next operation depends on beyond our last one. Undefined: nothing. */
  takeDependencies(): VersionVector | undefined {
    if (this.#unnamed.size === 0) return undefined;
    const dependencies = VersionVector.of(
      ...[...this.#unnamed].map((actor) => dot(actor, this.counterOf(actor))),
    );
    this.#unnamed.clear();
    return dependencies;
  }

  /** The operation that named them was undone. */
  revertDependencies(dependencies: VersionVector): void {
    for (const { actor } of dependencies.entries()) {
      if (this.counterOf(actor) > 0) this.#unnamed.add(actor);
    }
  }

  toVector(): VersionVector {
    const vector = new VersionVector();
    for (const [actor, counter] of this.#others) vector.advance(actor, counter);
    if (this.#own !== undefined && this.ownCounter > 0) vector.advance(this.#own, this.ownCounter);
    return vector;
  }
}
