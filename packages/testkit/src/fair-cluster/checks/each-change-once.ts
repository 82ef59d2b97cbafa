// F5  No change is applied twice, within an epoch or over several: a client resends a round only within its
// epoch, and never reuses a number for other folds.
import type { ChangeId } from '@syncline/fair';
import { assert } from '@syncline/kernel';

export class EachChangeOnce {
  readonly #applied = new Set<string>();

  get count(): number {
    return this.#applied.size;
  }

  applied(tracker: string, seed: bigint, { clientId, seq }: ChangeId): void {
    const change = `${tracker}/${seed}/${clientId}#${seq}`;
    assert(!this.#applied.has(change), `F5: the change ${change} was applied twice`);
    this.#applied.add(change);
  }
}
