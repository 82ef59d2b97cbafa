// Reduces a failing history: leaves out actors and halves of their steps as long as it still fails. In a simulation
// runs repeat exactly, so little is left in the end; elsewhere it is best effort.
import type { ActorPlan, HistoryPlan } from './history-plan.js';

/** The maximum number of runs: a failure should be reported soon. */
const TRIES_MAX = 60;

export async function shrinkHistory(
  plan: HistoryPlan,
  fails: (plan: HistoryPlan) => Promise<boolean>,
): Promise<HistoryPlan> {
  let smallest = plan;
  let tries = 0;
  let hasShrunk = true;
  while (hasShrunk) {
    hasShrunk = false;
    for (const smaller of smallerPlans(smallest)) {
      if (tries >= TRIES_MAX) return smallest;
      tries += 1;
      if (!(await fails(smaller))) continue;
      smallest = smaller;
      hasShrunk = true;
      break;
    }
  }
  return smallest;
}

/** The first actor stays: without a complete observer the log would have gaps, which look like other failures. */
function* smallerPlans(plan: HistoryPlan): Generator<HistoryPlan> {
  for (const [index, actor] of plan.actors.entries()) {
    if (index === 0) continue;
    yield { ...plan, actors: plan.actors.toSpliced(index, 1) };
    for (const shorter of shorterActors(actor))
      yield { ...plan, actors: plan.actors.toSpliced(index, 1, shorter) };
  }
}

function* shorterActors(actor: ActorPlan): Generator<ActorPlan> {
  const { length } = actor.steps;
  for (let size = Math.ceil(length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < length; from += size) {
      const isKept = (index: number) => index < from || index >= from + size;
      const steps = (actor.steps as readonly object[]).filter((_, index) => isKept(index));
      yield { ...actor, steps } as ActorPlan;
    }
  }
}
