// The table itself does not compile with a cell missing; these are the laws that its cells must keep.
import { expect, test } from 'vitest';
import { type ClientEvent, type ClientState, hasStream, nextState } from './client-state.js';

const STATES: readonly ClientState[] = [
  'waiting',
  'greeting',
  'syncing',
  'live',
  'refused',
  'closed',
];
const EVENTS: readonly ClientEvent[] = [
  'retry',
  'welcomed',
  'synced',
  'stale',
  'ended',
  'refused',
  'overdue',
  'closed',
];

test('closed is final, and reachable from every state', () => {
  for (const event of EVENTS) expect(nextState('closed', event)).toBe('closed');
  for (const state of STATES) expect(nextState(state, 'closed')).toBe('closed');
});

test('no stream outlives its end, and only a retry opens one', () => {
  for (const state of STATES) {
    expect(hasStream(nextState(state, 'ended'))).toBe(false);
    expect(hasStream(nextState(state, 'overdue'))).toBe(false);
    for (const event of EVENTS) {
      const begins = !hasStream(state) && hasStream(nextState(state, event));
      expect(begins && event !== 'retry', `${state}, ${event}`).toBe(false);
    }
  }
});

test('live is reached through Welcome and snapshots only', () => {
  const before = STATES.flatMap((state) =>
    EVENTS.filter((event) => state !== 'live' && nextState(state, event) === 'live').map(
      (event) => `${state} ${event}`,
    ),
  );
  expect(before).toEqual(['syncing synced']);
  expect(STATES.filter((state) => nextState(state, 'welcomed') === 'syncing')).toEqual([
    'greeting',
    'syncing',
  ]);
});

test('every wait ends', () => {
  for (const state of ['waiting', 'refused'] as const) {
    expect(nextState(state, 'retry')).toBe('greeting');
  }
  for (const state of ['greeting', 'syncing', 'live'] as const) {
    expect(nextState(state, 'overdue')).toBe('waiting');
  }
});
