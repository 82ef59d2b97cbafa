import { describe, expect, test } from 'vitest';
import type { JobEvent } from '../../job-store.js';
import {
  inputOf,
  isInReplay,
  nextPhase,
  SUBSCRIPTION_TRANSITIONS,
  type SubscriptionPhase,
} from './subscription-phase.js';

const cells = Object.entries(SUBSCRIPTION_TRANSITIONS).flatMap(([phase, row]) =>
  Object.entries(row).map(([input, next]) => [phase as SubscriptionPhase, input, next] as const),
);

describe('the phases of a subscription', () => {
  test('J22 every phase has a cell for every input, and each is reached', () => {
    const phases = Object.keys(SUBSCRIPTION_TRANSITIONS);
    const inputs = Object.keys(SUBSCRIPTION_TRANSITIONS.live);
    expect(cells).toHaveLength(phases.length * inputs.length);
    const reached = new Set<string>(['replaying']);
    for (let size = 0; size < reached.size; ) {
      size = reached.size;
      for (const [phase, , next] of cells) if (reached.has(phase)) reached.add(next);
    }
    expect([...reached].sort()).toEqual([...phases, 'refused'].sort());
  });

  test('J22 no event leaves the end phase, and every other phase can end, be deleted or be reset', () => {
    for (const [phase, input, next] of cells) {
      if (phase === 'ended') expect(next).toBe(input === 'end' ? 'ended' : 'refused');
      else if (input === 'gap-reset') expect(next).toBe('replaying');
      else if (input === 'gap-deleted' || input === 'end') expect(next).toBe('ended');
    }
  });

  test('J22 snapshots come only in a replay, changes only after it, and only synced or an end leaves it', () => {
    for (const [phase, input, next] of cells) {
      if (phase === 'ended') continue;
      const isReplay = isInReplay(phase);
      if (input === 'snapshot' || input === 'synced') expect(next !== 'refused').toBe(isReplay);
      if (input === 'change') expect(next === 'refused').toBe(isReplay);
      const stays = next !== 'refused' && next !== 'ended' && input !== 'synced';
      if (isReplay && stays) expect(isInReplay(next)).toBe(true);
    }
  });

  test('J22 an event is one input', () => {
    const gap = { kind: 'gap', reason: 'reset', fromRevision: 1, toRevision: 1 } as const;
    const stale: JobEvent = { kind: 'stale', sinceMs: 0, attempt: 1 };
    expect([inputOf(gap), inputOf(stale)]).toEqual(['gap-reset', 'stale']);
    expect(nextPhase('live', gap)).toBe('replaying');
    expect(nextPhase('replaying', stale)).toBe('replaying-stale');
  });
});
