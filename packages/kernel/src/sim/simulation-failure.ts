// Why a simulated run failed. It is the result of a test, not an error for a caller to handle.

export type SimulationFailureKind =
  /** The body, a boot or a callback threw. */
  | 'thrown'
  | 'unhandled-rejection'
  /** No event is left and the body still waits. */
  | 'deadlock'
  | 'time-budget'
  | 'event-budget';

export interface SimulationFailureFacts {
  readonly kind: SimulationFailureKind;
  readonly seed: number | string;
  readonly timeMs: number;
  readonly cause?: unknown;
  /** The last lines of the trace. */
  readonly traceTail: readonly string[];
}

export class SimulationFailure extends Error {
  override readonly name = 'SimulationFailure';
  readonly facts: SimulationFailureFacts;

  constructor(message: string, facts: SimulationFailureFacts) {
    super(
      `${message} (seed ${facts.seed}, ${facts.timeMs.toFixed(3)} ms simulated)`,
      facts.cause === undefined ? undefined : { cause: facts.cause },
    );
    this.facts = facts;
  }
}
