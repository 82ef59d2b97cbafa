// Holds operations that arrived before something they depend on, or while the channel accepts none, until they
// can be delivered.
//
// Peers push over separate connections, so an operation can overtake its cause. Delivered early, a remove would miss
// an add that its writer had seen. Operations of one actor are delivered in the order of their counters, so only
// the lowest held one of each actor can be ready. Each of those records one counter that it waits for, and is
// not checked again before that counter has changed.
//
// Applied counters are read on every check and never cached: a channel can undo what it took.
//
// M20  An operation is ready when it is next for its actor and all its dependencies are applied: causal order.
// M21  Per actor the held ranges rise and do not overlap: nothing is held twice.
// M22  At most `operationsMax` operations and `bytesMax` bytes are held, and the counts are exact.
import { type ActorId, assert, type Dot } from '@syncline/kernel';
import { encodedOperation, type OperationHead } from './operation-head.js';

export interface PendingOptions {
  readonly operationsMax: number;
  readonly bytesMax: number;
}

/** What the channel has applied of an actor. */
export type AppliedCounter = (actor: ActorId) => number;

export type Readiness =
  | 'ready'
  | 'duplicate'
  /** Its range has been applied in part, which no honest actor causes. */
  | 'overlapping'
  | 'early';

interface Queue {
  readonly actor: ActorId;
  /** Lowest counters first. Those before `head` are gone; they are cut off in bulk. */
  operations: (OperationHead | undefined)[];
  head: number;
  /** End of the contiguous run that starts with the lowest. */
  runLast: number;
  /** The lowest cannot be ready before this counter of that actor is applied. Undefined: check it. */
  waitsFor: Dot | undefined;
}

const compactAbove = 1_024;

export class PendingOperations {
  readonly #options: PendingOptions;
  readonly #queues = new Map<ActorId, Queue>();
  #operationsCount = 0;
  #bytesCount = 0;

  constructor(options: PendingOptions) {
    this.#options = options;
  }

  get operationsCount(): number {
    return this.#operationsCount;
  }

  get bytesCount(): number {
    return this.#bytesCount;
  }

  /** Operations held of one actor. */
  countOf(actor: ActorId): number {
    const queue = this.#queues.get(actor);
    return queue === undefined ? 0 : queue.operations.length - queue.head;
  }

  actors(): Iterable<ActorId> {
    return this.#queues.keys();
  }

  /** The lowest held operation of an actor. */
  lowest(actor: ActorId): OperationHead | undefined {
    const queue = this.#queues.get(actor);
    return queue === undefined ? undefined : lowestOf(queue);
  }

  /**
   * Holds a copy of the operation, which must not be applied. 'full' changes nothing. 'overlapping': its range
   * overlaps one that is held.
   */
  hold(operation: OperationHead): 'held' | 'duplicate' | 'full' | 'overlapping' {
    const queue = this.#queues.get(operation.actor) ?? newQueue(operation.actor);
    const at = indexAfter(queue, operation.base);
    const before = queue.operations[at - 1];
    const after = queue.operations[at];
    if (at > queue.head && before !== undefined && before.last >= operation.base) {
      const isSame = before.base === operation.base && before.last === operation.last;
      return isSame ? 'duplicate' : 'overlapping';
    }
    if (after !== undefined && after.base <= operation.last) return 'overlapping';
    const { operationsMax, bytesMax } = this.#options;
    const bytes = this.#bytesCount + operation.end - operation.start;
    if (this.#operationsCount >= operationsMax || bytes > bytesMax) return 'full';
    this.#insert(queue, at, operation);
    return 'held';
  }

  /** The end of the contiguous run of held operations that follows `counter`, or `counter` itself. */
  heldThrough(actor: ActorId, counter: number): number {
    const queue = this.#queues.get(actor);
    const lowest = queue === undefined ? undefined : lowestOf(queue);
    if (queue === undefined || lowest === undefined || lowest.base > counter + 1) return counter;
    return Math.max(counter, queue.runLast);
  }

  /** An operation that is ready now. It stays held until `drop`. Drops what has become a duplicate. */
  nextReady(applied: AppliedCounter): OperationHead | undefined {
    for (const queue of this.#queues.values()) {
      for (let lowest = lowestOf(queue); lowest !== undefined; lowest = lowestOf(queue)) {
        const { waitsFor } = queue;
        if (waitsFor !== undefined && applied(waitsFor.actor) < waitsFor.counter) break;
        const state = readiness(lowest, applied);
        if (state === 'ready') return lowest;
        if (state === 'early') {
          queue.waitsFor = missingCause(lowest, applied);
          break;
        }
        this.drop(queue.actor); // a repair has delivered it in the meantime
      }
    }
    return undefined;
  }

  /** Forgets the lowest held operation of an actor. */
  drop(actor: ActorId): void {
    const queue = this.#queues.get(actor);
    const lowest = queue === undefined ? undefined : lowestOf(queue);
    assert(queue !== undefined && lowest !== undefined, 'M21: what is dropped is held');
    queue.operations[queue.head] = undefined;
    queue.head += 1;
    queue.waitsFor = undefined;
    this.#operationsCount -= 1;
    this.#bytesCount -= lowest.end;
    assert(this.#operationsCount >= 0 && this.#bytesCount >= 0, 'M22: counts are never negative');
    const next = lowestOf(queue);
    if (next === undefined) this.#queues.delete(actor);
    else if (next.base !== lowest.last + 1) extendRun(queue, queue.head, next.base - 1);
    if (queue.head >= compactAbove && queue.head * 2 >= queue.operations.length) {
      queue.operations = queue.operations.slice(queue.head);
      queue.head = 0;
    }
  }

  /** Forgets all operations of an actor. */
  dropAll(actor: ActorId): void {
    while (this.#queues.has(actor)) this.drop(actor);
  }

  #insert(queue: Queue, at: number, operation: OperationHead): void {
    // A view would keep its whole frame in memory.
    const bytes = encodedOperation(operation);
    const held = { ...operation, bytes, start: 0, end: bytes.length };
    queue.operations.splice(at, 0, held);
    this.#queues.set(queue.actor, queue);
    this.#operationsCount += 1;
    this.#bytesCount += bytes.length;
    assert(this.#operationsCount <= this.#options.operationsMax, 'M22: never above the limit');
    if (at === queue.head) {
      queue.waitsFor = undefined;
      extendRun(queue, at, held.base - 1);
    } else if (held.base === queue.runLast + 1) {
      extendRun(queue, at, queue.runLast);
    }
  }
}

export function readiness(operation: OperationHead, applied: AppliedCounter): Readiness {
  const counter = applied(operation.actor);
  if (operation.last <= counter) return 'duplicate';
  if (operation.base <= counter) return 'overlapping';
  return missingCause(operation, applied) === undefined ? 'ready' : 'early';
}

/** The first counter that the operation still waits for. */
function missingCause(
  { actor, base, dependencies }: OperationHead,
  applied: AppliedCounter,
): Dot | undefined {
  if (applied(actor) < base - 1) return { actor, counter: base - 1 };
  for (const cause of dependencies) {
    if (applied(cause.actor) < cause.counter) return cause;
  }
  return undefined;
}

function newQueue(actor: ActorId): Queue {
  return { actor, operations: [], head: 0, runLast: 0, waitsFor: undefined };
}

function lowestOf(queue: Queue): OperationHead | undefined {
  return queue.operations[queue.head];
}

/** Index behind all held operations whose range begins at or before `base`. */
function indexAfter(queue: Queue, base: number): number {
  let low = queue.head;
  let high = queue.operations.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((queue.operations[middle]?.base ?? 0) <= base) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Moves the end of the run over the operations from `index` on that follow `last` without a gap. */
function extendRun(queue: Queue, index: number, last: number): void {
  queue.runLast = last;
  for (let at = index; queue.operations[at]?.base === queue.runLast + 1; at += 1) {
    queue.runLast = queue.operations[at]?.last ?? queue.runLast;
  }
}
