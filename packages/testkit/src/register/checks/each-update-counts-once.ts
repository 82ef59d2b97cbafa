// No request is stored twice, nothing is stored that nobody asked for, and each node's total is the sum
// of what it has stored.
import { assert } from '@syncline/kernel';
import type { RegisterHistory } from '../register-history.js';
import { type RegisterView, requestId } from './register-view.js';

export function checkEachUpdateCountsOnce(
  history: RegisterHistory,
  views: readonly RegisterView[],
): void {
  const amounts = new Map(history.attempts.map((each) => [requestId(each), each.amount]));
  for (const { node, state, updates } of views) {
    const seen = new Set<string>();
    let sum = 0;
    for (const update of updates) {
      const id = requestId(update);
      assert(!seen.has(id), `${node} has stored ${id} twice`);
      assert(amounts.get(id) === update.amount, `${node} has stored ${id}, which nobody asked for`);
      seen.add(id);
      sum += update.amount;
    }
    assert(state.total === sum, `${node} says ${state.total}, but its updates add up to ${sum}`);
  }
}
