// The states of a run and their transitions, as a complete table.
//
//   starting ─▶ recovering ─▶ running ─▶ stopping ─▶ stopped
//                   ▲    ▲       │  ▲        │
//                   │    └───────┤  │        └─▶ finished, when every source had ended
//                   └─ stalled ◀─┘  │
//                         └─────────┘      any of them ─▶ failed
//
// `stalled` means that something external must recover: a full disk, or a sink that cannot be reached. The run then
// continues by itself.
//
// X42  Every state handles every event.
import { assert } from '@syncline/kernel';

export type RunState =
  | 'starting'
  | 'recovering'
  | 'running'
  | 'stalled'
  | 'stopping'
  | 'stopped'
  | 'finished'
  | 'failed';

export type RunEvent =
  /** The directory is open and verified. */
  | 'opened'
  /** States are loaded, owed output is delivered, and sources are checked. */
  | 'recovered'
  /** An attempt at an epoch was abandoned; the run returns to the last durable one. */
  | 'abandoned'
  /** The disk is full, or a sink cannot be reached. */
  | 'stalled'
  /** The sink can be reached again. */
  | 'resumed'
  /** No more records are read. */
  | 'stop'
  /** Everything is closed after a stop. */
  | 'closed'
  /** Everything is closed after the end of all sources. */
  | 'ended'
  /** An error that is not retryable. */
  | 'failed';

/** `never`: the event cannot occur in this state. */
export const RUN_TABLE: Readonly<Record<RunState, Readonly<Record<RunEvent, RunState | 'never'>>>> =
  {
    starting: {
      opened: 'recovering',
      recovered: 'never',
      abandoned: 'never',
      stalled: 'never',
      resumed: 'never',
      stop: 'stopping',
      closed: 'never',
      ended: 'never',
      failed: 'failed',
    },
    recovering: {
      opened: 'never',
      recovered: 'running',
      abandoned: 'recovering',
      stalled: 'stalled',
      resumed: 'recovering',
      stop: 'stopping',
      closed: 'never',
      ended: 'finished', // a finished directory, started again
      failed: 'failed',
    },
    running: {
      opened: 'never',
      recovered: 'never',
      abandoned: 'recovering',
      stalled: 'stalled',
      resumed: 'running',
      stop: 'stopping',
      closed: 'never',
      ended: 'finished',
      failed: 'failed',
    },
    stalled: {
      opened: 'never',
      recovered: 'running',
      abandoned: 'recovering',
      stalled: 'stalled',
      resumed: 'running',
      stop: 'stopping',
      closed: 'never',
      ended: 'finished',
      failed: 'failed',
    },
    stopping: {
      opened: 'stopping',
      recovered: 'stopping',
      abandoned: 'stopping',
      stalled: 'stopping',
      resumed: 'stopping',
      stop: 'stopping',
      closed: 'stopped',
      ended: 'finished',
      failed: 'failed',
    },
    stopped: {
      opened: 'never',
      recovered: 'never',
      abandoned: 'never',
      stalled: 'never',
      resumed: 'never',
      stop: 'stopped',
      closed: 'stopped',
      ended: 'never',
      failed: 'never',
    },
    finished: {
      opened: 'never',
      recovered: 'never',
      abandoned: 'never',
      stalled: 'never',
      resumed: 'never',
      stop: 'finished',
      closed: 'finished',
      ended: 'finished',
      failed: 'never',
    },
    failed: {
      opened: 'never',
      recovered: 'never',
      abandoned: 'never',
      stalled: 'never',
      resumed: 'never',
      stop: 'failed',
      closed: 'failed',
      ended: 'failed',
      failed: 'failed',
    },
  };

export function nextState(state: RunState, event: RunEvent): RunState {
  const next = RUN_TABLE[state][event];
  assert(next !== 'never', `a run that is ${state} has no event "${event}"`);
  return next;
}

export function isOver(state: RunState): boolean {
  return state === 'stopped' || state === 'finished' || state === 'failed';
}
