// One simulated process, from its start to its end.
//
// Every result of a port is delivered by an event that the process owns. An event of a dead process is dropped, so
// its promises never settle and its timers never fire; one of a paused process waits. Each start creates a new one,
// which nothing of an older process can reach.
//
// A synchronous call cannot leave its caller waiting. In a dead process it throws ProcessEnded, which unwinds the
// code of that process; the simulator ignores the error wherever it surfaces.
//
// K80  After its end a process does nothing: none of its ports resolves, writes, sends or calls back.
import type { EventOwner, SimEvent } from './event-queue.js';

export class ProcessLife implements EventOwner {
  readonly nodeName: string;
  /** 1 for the first start of the node, then one more for each. */
  readonly generation: number;
  #state: 'running' | 'paused' | 'dead' = 'running';
  #held: SimEvent[] = [];

  constructor(nodeName: string, generation: number) {
    this.nodeName = nodeName;
    this.generation = generation;
  }

  get state(): 'running' | 'paused' | 'dead' {
    return this.#state;
  }

  get isDead(): boolean {
    return this.#state === 'dead';
  }

  hold(event: SimEvent): void {
    this.#held.push(event);
  }

  pause(): void {
    if (this.#state === 'running') this.#state = 'paused';
  }

  /** Returns what became due during the pause, oldest first. */
  resume(): readonly SimEvent[] {
    if (this.#state !== 'paused') return [];
    this.#state = 'running';
    const held = this.#held;
    this.#held = [];
    return held;
  }

  end(): void {
    this.#state = 'dead';
    this.#held = [];
  }

  /** What a call on a port of a dead process returns. */
  never<T>(): Promise<T> {
    return new Promise<T>(() => {});
  }
}

/** Thrown by a synchronous call on a port when the process is dead, or dies in the call. */
export class ProcessEnded extends Error {
  override readonly name = 'ProcessEnded';

  constructor(life: ProcessLife) {
    super(`the process ${life.nodeName}#${life.generation} has ended`);
  }
}

/** Even if the code of the dead process has wrapped the error. */
export function isProcessEnd(thrown: unknown): boolean {
  let error = thrown;
  while (error instanceof Error && !(error instanceof ProcessEnded)) error = error.cause;
  return error instanceof ProcessEnded;
}
