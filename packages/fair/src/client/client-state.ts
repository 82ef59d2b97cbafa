// The life of a client as a table without gaps: a new state or event does not compile until every cell is
// decided. What is done on the way in lies with StateClient; here is only where each event leads.
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
  /** The snapshots of both structures are in. */
  | 'synced'
  /** A message is of another epoch: the shared state has started anew. */
  | 'stale'
  /** The stream is over, for whatever reason but the next. */
  | 'ended'
  /** The service does not take our configuration. */
  | 'refused'
  /** Nothing was acknowledged, or nobody answered, for the whole retry budget. */
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
    synced: 'live', // a rotation fetches its new structure without leaving
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
