import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decide, emptyRegister, type RegisterState, type Update } from './register-core.js';

const options = { node: 'n1', bug: undefined };
const updates: readonly Update[] = Array.from({ length: 8 }, (_, index) => ({
  node: 'n2',
  counter: index + 1,
  client: 'c1',
  request: index + 1,
  amount: 10 ** index,
}));

test('updates count once and in order, whatever is repeated, lost or overtaken', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(updates.length - 1), { maxLength: 60 }), (picks) => {
      let state: RegisterState = emptyRegister;
      for (const pick of picks) {
        const update = updates[pick] as Update;
        const applied = state.applied.get('n2') ?? 0;
        const decision = decide(state, { kind: 'update', update }, options);
        const next = update.counter - applied;
        const expected = next === 1 ? 'applied' : next > 1 ? 'early' : 'duplicate';
        expect(decision.outcome).toBe(expected);
        if (expected !== 'applied') expect(decision.state).toBe(state);
        ({ state } = decision);
      }
      const counted = updates.slice(0, state.applied.get('n2') ?? 0);
      expect(state.total).toBe(counted.reduce((sum, { amount }) => sum + amount, 0));
    }),
  );
});

test('a repeated request is answered and not numbered again', () => {
  const add = { kind: 'add', client: 'c1', request: 1, amount: 5 } as const;
  const first = decide(emptyRegister, add, options);
  expect(first.update).toMatchObject({ node: 'n1', counter: 1 });
  const again = decide(first.state, add, options);
  expect(again).toEqual({ state: first.state, outcome: 'duplicate' });
  const second = decide(again.state, { ...add, request: 2 }, options);
  expect(second.update?.counter).toBe(2);
  expect(second.state.total).toBe(10);
});
