// The pending events, earliest first: a binary heap.
//
// Events at the same moment are ordered by a seeded number, so that different seeds try different orders, then by
// age. A cancelled event stays in the heap without its work; the heap is rebuilt when most of it is cancelled, so
// that timeouts that never fire do not accumulate.

/** A process that events belong to. Its death drops them, its pause keeps them for later. */
export interface EventOwner {
  readonly state: 'running' | 'paused' | 'dead';
  /** Takes an event that came up during a pause. */
  hold(event: SimEvent): void;
}

export interface SimEvent {
  timeMs: number;
  /** Seeded; decides between events of one moment. */
  tie: number;
  /** Increases with each event; breaks remaining ties. */
  sequence: number;
  /** How the trace names it: `timer`, `deliver`, `commit`… and the node or link. */
  readonly kind: string;
  readonly subject: string;
  /** Undefined: it belongs to the simulation itself and always happens. */
  readonly owner: EventOwner | undefined;
  /** Undefined once it ran or was cancelled. */
  run: (() => void) | undefined;
  /** False while a paused process holds it, and after it ran. */
  isQueued: boolean;
}

export class EventQueue {
  #heap: SimEvent[] = [];
  #cancelledCount = 0;

  push(event: SimEvent): void {
    event.isQueued = true;
    this.#heap.push(event);
    siftUp(this.#heap, this.#heap.length - 1);
  }

  /** Takes the earliest event that was not cancelled. */
  pop(): SimEvent | undefined {
    for (;;) {
      const event = this.#popAny();
      if (event === undefined) return undefined;
      event.isQueued = false;
      if (event.run !== undefined) return event;
      this.#cancelledCount -= 1;
    }
  }

  /** Drops the work of an event, wherever it is. */
  cancel(event: SimEvent): void {
    if (event.run === undefined) return;
    event.run = undefined;
    if (!event.isQueued) return;
    this.#cancelledCount += 1;
    if (this.#cancelledCount > 64 && this.#cancelledCount * 2 > this.#heap.length) this.#rebuild();
  }

  /** Events that wait for their time and that `isWanted` picks. */
  count(isWanted: (event: SimEvent) => boolean): number {
    return this.#heap.filter((event) => event.run !== undefined && isWanted(event)).length;
  }

  #popAny(): SimEvent | undefined {
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (first === undefined || last === undefined || first === last) return first;
    siftDown(this.#heap, last);
    return first;
  }

  #rebuild(): void {
    const kept = this.#heap.filter((event) => event.run !== undefined);
    this.#heap = kept.sort((a, b) => (isBefore(a, b) ? -1 : 1)); // a sorted array is a heap
    this.#cancelledCount = 0;
  }
}

function isBefore(a: SimEvent, b: SimEvent): boolean {
  if (a.timeMs !== b.timeMs) return a.timeMs < b.timeMs;
  if (a.tie !== b.tie) return a.tie < b.tie;
  return a.sequence < b.sequence;
}

function siftUp(heap: SimEvent[], start: number): void {
  const event = heap[start] as SimEvent;
  let index = start;
  while (index > 0) {
    const parentIndex = (index - 1) >> 1;
    const parent = heap[parentIndex] as SimEvent;
    if (!isBefore(event, parent)) break;
    heap[index] = parent;
    index = parentIndex;
  }
  heap[index] = event;
}

/** Puts `event` in the place of the first one and sifts it down. */
function siftDown(heap: SimEvent[], event: SimEvent): void {
  const length = heap.length;
  let index = 0;
  for (let child = 1; child < length; child = 2 * index + 1) {
    let smallest = heap[child] as SimEvent;
    const right = heap[child + 1];
    let smallestIndex = child;
    if (right !== undefined && isBefore(right, smallest)) {
      smallest = right;
      smallestIndex = child + 1;
    }
    if (!isBefore(smallest, event)) break;
    heap[index] = smallest;
    index = smallestIndex;
  }
  heap[index] = event;
}
