// Every addition that a client was told of is on every node, and no later read had forgotten it.
import { assert } from '@syncline/kernel';
import type { RegisterHistory } from '../register-history.js';
import { type RegisterView, requestId } from './register-view.js';

export function checkNothingAcknowledgedIsLost(
  history: RegisterHistory,
  views: readonly RegisterView[],
): void {
  for (const { node, updates } of views) {
    const stored = new Set(updates.map(requestId));
    for (const addition of history.acknowledgements) {
      const id = requestId(addition);
      assert(stored.has(id), `${node} has lost ${id}, which was acknowledged`);
    }
  }
  for (const { client, request, acknowledgedRequest } of history.readings) {
    assert(
      request >= acknowledgedRequest,
      `${client} read only its request ${request} after ${acknowledgedRequest} was acknowledged`,
    );
  }
}
