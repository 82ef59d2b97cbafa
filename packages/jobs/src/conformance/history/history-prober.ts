// Reads while others write. The results are compared with the log afterwards, when the log is complete.
//
// J8   No read shows r + 1 without r: a page, and a progress, is the job at one revision.
// J12  Progress equals the naive fold at its revision.
import { SynclineError } from '@syncline/kernel';
import type { Progress, Scope, State } from '../../job.js';
import type { StatePage } from '../../job-store.js';
import { jobsLimits } from '../../limits.js';
import { JOB_ID } from '../job-samples.js';
import { foldStates } from '../naive-fold.js';
import type { JobChange } from '../trace/keys.js';
import { isInScope, keyOfState } from '../trace/keys.js';
import { isSameContent } from '../trace/whole-change.js';
import type { ProberStep } from './history-plan.js';
import type { HistoryWorld } from './history-world.js';

type Read =
  | { readonly kind: 'progress'; readonly scope: Scope; readonly progress: Progress }
  | { readonly kind: 'list'; readonly scope: Scope; readonly page: StatePage }
  | { readonly kind: 'state'; readonly state: State; readonly floor: Floor | undefined };

/** What was acknowledged before the read began. */
interface Floor {
  readonly incarnation: string;
  readonly revision: number;
}

export class HistoryProber {
  readonly #world: HistoryWorld;
  readonly #reads: Read[] = [];

  constructor(world: HistoryWorld) {
    this.#world = world;
  }

  async run(steps: readonly (ProberStep & { readonly waitMs: number })[]): Promise<void> {
    for (const step of steps) {
      if (step.waitMs > 0) await this.#world.sleep(step.waitMs);
      const read = await this.#world.attempt(() => this.#read(step));
      if (read instanceof SynclineError && read.code !== 'not-found') throw read;
      if (read && !(read instanceof SynclineError)) this.#reads.push(read);
    }
  }

  /** Called once everything has been learned. `mayMiss`: except for changes that no one saw. */
  check({ mayMiss }: { readonly mayMiss: boolean }): readonly string[] {
    return this.#reads.flatMap((read) => this.#checkRead(read, mayMiss));
  }

  #checkRead(read: Read, mayMiss: boolean): readonly string[] {
    switch (read.kind) {
      case 'progress':
        return this.#checkProgress(read.scope, read.progress, mayMiss);
      case 'list':
        return this.#checkList(read.scope, read.page);
      case 'state':
        return this.#checkState(read.state, read.floor);
    }
  }

  async #read({ do: kind, scope }: ProberStep): Promise<Read | undefined> {
    const { store } = this.#world;
    if (kind === 'progress') return { kind, scope, progress: await store.aggregate(JOB_ID, scope) };
    if (kind === 'list') {
      const page = { afterRevision: 0, limit: jobsLimits.listStatesMax.value };
      return { kind, scope, page: await store.listStates(JOB_ID, scope, page) };
    }
    const cell = { taskId: 0, tag: this.#world.plan.tags[0] ?? '', ...scope };
    const floor = this.#floor(cell);
    const state = await store.getState(JOB_ID, cell.taskId, cell.tag);
    if (state) return { kind, state, floor };
    if (floor && this.#world.incarnation === floor.incarnation && !this.#isEnding())
      this.#world.problems.push(`J8: ${keyOfState(cell)} is unknown after ${floor.revision}`);
    return undefined;
  }

  /** A deletion may be in flight: then any result is possible. */
  #isEnding(): boolean {
    return this.#world.plan.actors.some(
      (actor) => actor.kind === 'operator' && actor.steps.some((step) => step.do === 'recreate'),
    );
  }

  #floor(cell: { readonly taskId: number; readonly tag: string }): Floor | undefined {
    const { log, incarnation } = this.#world;
    const fold = log.foldAt(incarnation, Number.POSITIVE_INFINITY);
    const change = fold.get(keyOfState(cell));
    return change && { incarnation, revision: change.revision };
  }

  #checkState(state: State, floor: Floor | undefined): readonly string[] {
    const { log } = this.#world;
    const homes = log.incarnations.filter((incarnation) => {
      const change = log.change(incarnation, state.revision);
      return change?.kind === 'state' && isSameContent(change.state, state);
    });
    if (homes.length === 0)
      return [`J8: a read shows ${JSON.stringify(state)}, which was never written`];
    const isOld = floor && homes.includes(floor.incarnation) && state.revision < floor.revision;
    return isOld ? [`J8: a read shows ${state.revision} after ${floor.revision}`] : [];
  }

  #checkList(scope: Scope, { incarnation, revision, states, more }: StatePage): readonly string[] {
    if (more) return [];
    const expected = statesOf(this.#world.log.foldAt(incarnation, revision), scope);
    if (isSameContent(expected, states)) return [];
    const shown = states.map((state) => `${keyOfState(state)} ${state.revision}`);
    return [
      `J8: the page at ${revision} of ${incarnation} differs from the store: ${shown.join(', ')}`,
    ];
  }

  #checkProgress(scope: Scope, progress: Progress, mayMiss: boolean): readonly string[] {
    const { log, context } = this.#world;
    const { revision } = progress;
    const isComplete = (incarnation: string) =>
      context.capabilities.history === 'all' ? log.isComplete(incarnation, revision) : !mayMiss;
    // Which tasks are lost, and which tags are expected, is known only if nothing is missing.
    if (!log.incarnations.every(isComplete)) return [];
    const isOne = log.incarnations.some((one) => {
      const expected = progressOf(log.foldAt(one, revision), scope, revision);
      return expected && isSameContent(expected, progress);
    });
    if (isOne) return [];
    return [
      `J12: the progress of ${JSON.stringify(scope)} at ${revision} is not the fold of its states`,
    ];
  }
}

function progressOf(
  fold: ReadonlyMap<string, JobChange>,
  scope: Scope,
  revision: number,
): Progress | undefined {
  const metadata = fold.get('job');
  if (metadata?.kind !== 'job') return undefined;
  const lost = [...fold.values()].flatMap((change) =>
    change.kind === 'lease' && change.lease.state === 'lost' ? [change.lease.taskId] : [],
  );
  const job = { ...metadata.job, revision };
  const states = statesOf(fold, {});
  return foldStates({ job, states, lostTaskIds: new Set(lost) }, scope);
}

/** Ascending by revision. */
function statesOf(fold: ReadonlyMap<string, JobChange>, scope: Scope): readonly State[] {
  return [...fold.values()]
    .flatMap((change) => (change.kind === 'state' ? [change.state] : []))
    .filter((state) => isInScope(scope, state))
    .sort((left, right) => left.revision - right.revision);
}
