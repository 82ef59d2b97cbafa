// The states of a client as a total table: a new state or event does not compile until every cell is filled in.
// Actions are in StateClient; this table only has the transitions.
//
//   waiting ─ retry ─▶ greeting ─ welcomed ─▶ syncing ─ synced ─▶ live
//      ▲                  │ └ refused ─▶ refused ─ retry ─▶ greeting
//      └──── ended, stale, overdue (from any state with a stream) ────┘          closed: for good

export type ClientState = 'waiting' | 'greeting' | 'syncing' | 'live' | 'refused' | 'closed';

export type ClientEvent =
  /** The wait is over. */
  | 'retry'
  /** The service has answered our hello. */
  | 'welcomed'
  /** The snapshots of both structures have arrived. */
  | 'synced'
  /** A message has another epoch: the shared state has restarted. */
  | 'stale'
  /** The stream ended, for any reason except the next. */
  | 'ended'
  /** The service refuses our configuration. */
  | 'refused'
  /** Nothing was acknowledged, or the service did not answer, for the whole retry budget. */
  | 'overdue'
  | 'closed';

const NEXT: Readonly<Record<ClientState, Readonly<Record<ClientEvent, ClientState>>>> = {
  waiting: {
    retry: 'greeting',
    welcomed: 'waiting',
    synced: 'waiting',
    stale: 'waiting',
    ended: 'waiting',
    refused: 'waiting',
    overdue: 'waiting',
    closed: 'closed',
  },
  greeting: {
    retry: 'greeting',
    welcomed: 'syncing',
    synced: 'greeting',
    stale: 'greeting', // before Welcome there is no epoch to differ from
    ended: 'waiting',
    refused: 'refused',
    overdue: 'waiting',
    closed: 'closed',
  },
  syncing: {
    retry: 'syncing',
    welcomed: 'syncing',
    synced: 'live',
    stale: 'waiting',
    ended: 'waiting',
    refused: 'refused',
    overdue: 'waiting',
    closed: 'closed',
  },
  live: {
    retry: 'live',
    welcomed: 'live',
    synced: 'live', // a rotation fetches its new structure without leaving this state
    stale: 'waiting',
    ended: 'waiting',
    refused: 'refused',
    overdue: 'waiting',
    closed: 'closed',
  },
  refused: {
    retry: 'greeting',
    welcomed: 'refused',
    synced: 'refused',
    stale: 'refused',
    ended: 'refused',
    refused: 'refused',
    overdue: 'refused',
    closed: 'closed',
  },
  closed: {
    retry: 'closed',
    welcomed: 'closed',
    synced: 'closed',
    stale: 'closed',
    ended: 'closed',
    refused: 'closed',
    overdue: 'closed',
    closed: 'closed',
  },
};

export function nextState(state: ClientState, event: ClientEvent): ClientState {
  return NEXT[state][event];
}

/** A stream is open in these. */
export function hasStream(state: ClientState): boolean {
  return state === 'greeting' || state === 'syncing' || state === 'live';
}
