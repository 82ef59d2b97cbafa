// A random history as a plain value: who does what, in which order, with which pauses. It is drawn from a seed; being
// a value, it can be printed, run again and reduced to what still fails.
import { type Random, randomBelow } from '@syncline/kernel';
import type { Scope } from '../../job.js';
import type { Overflow } from '../../job-store.js';
import type { FaultName } from '../job-store-subject.js';
import type { Include } from '../trace/keys.js';

export type WriterStep =
  /** `times` writes at once; `isDoubled`: each is sent twice, as a network would. */
  | {
      readonly do: 'write';
      readonly tag: string;
      readonly status: number;
      readonly times: number;
      readonly isDoubled: boolean;
    }
  | { readonly do: 'write-if'; readonly tag: string; readonly version: number }
  | { readonly do: 'claim' | 'renew' | 'release' };

export type ReaderStep =
  | { readonly do: 'take'; readonly count: number }
  /** Disconnects and resumes at its cursor, or at an earlier one, or without one. */
  | { readonly do: 'cut' | 'restart' }
  | { readonly do: 'rewind'; readonly back: number };

export type ProberStep = { readonly do: 'progress' | 'list' | 'state'; readonly scope: Scope };

export type OperatorStep =
  | { readonly do: 'update'; readonly expectedTags: readonly string[] }
  | { readonly do: 'recreate'; readonly isMarkedFirst: boolean };

export type FaultStep = { readonly do: FaultName; readonly ms: number };

type Timed<Step> = readonly (Step & { readonly waitMs: number })[];

export type ActorPlan =
  | {
      readonly kind: 'writer';
      readonly taskId: number;
      readonly ttlMs: number;
      readonly steps: Timed<WriterStep>;
    }
  | {
      readonly kind: 'reader';
      readonly scope: Scope;
      readonly include: Include;
      readonly overflow: Overflow;
      readonly maxEvents: number;
      readonly isByBatch: boolean;
      readonly steps: Timed<ReaderStep>;
    }
  | { readonly kind: 'prober'; readonly steps: Timed<ProberStep> }
  | { readonly kind: 'operator'; readonly steps: Timed<OperatorStep> }
  | { readonly kind: 'faults'; readonly steps: Timed<FaultStep> };

export interface HistoryPlan {
  readonly numTasks: number;
  readonly tags: readonly string[];
  readonly expectedTags: readonly string[];
  readonly actors: readonly ActorPlan[];
}

export interface PlanAbilities {
  readonly faults: readonly FaultName[];
  readonly time: 'simulated' | 'real';
  /** The most steps of each actor. */
  readonly stepsMax: number;
}

const TAGS = ['ingest', 'ä/🟢', 'z'];
const STATUSES = [0, 1, 7, 2_147_483_647, -1, -2, -9];

export function planHistory(random: Random, abilities: PlanAbilities): HistoryPlan {
  return new Planner(random, abilities).plan();
}

class Planner {
  readonly #random: Random;
  readonly #abilities: PlanAbilities;

  constructor(random: Random, abilities: PlanAbilities) {
    this.#random = random;
    this.#abilities = abilities;
  }

  plan(): HistoryPlan {
    const numTasks = this.#between(1, 3);
    const tags = TAGS.slice(0, this.#between(1, TAGS.length));
    const expectedTags = tags.filter(() => this.#chance(0.3));
    const writers = Array.from({ length: numTasks + this.#between(0, 2) }, (_, index) =>
      this.#writer(index % numTasks, tags),
    );
    const readers = Array.from({ length: this.#between(2, 4) }, () => this.#reader(numTasks, tags));
    const actors: ActorPlan[] = [witness, ...writers, ...readers];
    if (this.#chance(0.7)) actors.push(this.#prober(numTasks, tags));
    if (this.#chance(0.5)) actors.push(this.#operator(tags));
    if (this.#abilities.faults.length > 0 && this.#chance(0.7)) actors.push(this.#faults());
    return { numTasks, tags, expectedTags, actors };
  }

  #writer(taskId: number, tags: readonly string[]): ActorPlan {
    const ttlMs = this.#abilities.time === 'simulated' && this.#chance(0.3) ? 1_000 : 0;
    const steps = this.#steps(3, 12, (): WriterStep => {
      const draw = this.#random.float();
      const tag = this.#pick(tags);
      if (draw < 0.06) return { do: 'claim' };
      if (draw < 0.1) return { do: 'renew' };
      if (draw < 0.13) return { do: 'release' };
      if (draw < 0.25) return { do: 'write-if', tag, version: this.#between(0, 4) };
      const timesMax = Math.min(40, 4 * this.#abilities.stepsMax);
      const times = this.#chance(0.15) ? this.#between(5, timesMax) : 1;
      const status = this.#pick(STATUSES);
      return { do: 'write', tag, status, times, isDoubled: this.#chance(0.2) };
    });
    return { kind: 'writer', taskId, ttlMs, steps };
  }

  #reader(numTasks: number, tags: readonly string[]): ActorPlan {
    return {
      kind: 'reader',
      scope: this.#scope(numTasks, tags),
      include: (['lease', 'job'] as const).filter(() => this.#chance(0.3)),
      overflow: this.#pick(['block', 'coalesce', 'fail'] as const),
      maxEvents: this.#pick([4, 5, 16, 256]),
      isByBatch: this.#chance(0.3),
      steps: this.#steps(2, 10, (): ReaderStep => {
        const draw = this.#random.float();
        if (draw < 0.25) return { do: 'cut' };
        if (draw < 0.35) return { do: 'rewind', back: this.#between(0, 12) };
        if (draw < 0.4) return { do: 'restart' };
        return { do: 'take', count: this.#between(1, 15) };
      }),
    };
  }

  #prober(numTasks: number, tags: readonly string[]): ActorPlan {
    const step = (): ProberStep => {
      const scope = this.#scope(numTasks, tags);
      return { do: this.#pick(['progress', 'list', 'state'] as const), scope };
    };
    return { kind: 'prober', steps: this.#steps(3, 12, step) };
  }

  #operator(tags: readonly string[]): ActorPlan {
    const step = (): OperatorStep => {
      if (this.#chance(0.4)) return { do: 'recreate', isMarkedFirst: this.#chance(0.3) };
      return { do: 'update', expectedTags: tags.filter(() => this.#chance(0.4)) };
    };
    return { kind: 'operator', steps: this.#steps(1, 3, step) };
  }

  #faults(): ActorPlan {
    const step = (): FaultStep => {
      const ms = this.#between(-5_000, 5_000);
      return { do: this.#pick(this.#abilities.faults), ms };
    };
    return { kind: 'faults', steps: this.#steps(1, 4, step) };
  }

  #scope(numTasks: number, tags: readonly string[]): Scope {
    return {
      ...(this.#chance(0.4) && { taskId: this.#between(0, numTasks - 1) }),
      ...(this.#chance(0.4) && { tag: this.#pick(tags) }),
    };
  }

  #steps<Step>(least: number, most: number, make: () => Step): Timed<Step> {
    const count = this.#between(least, Math.min(most, this.#abilities.stepsMax));
    return Array.from({ length: count }, () => ({ ...make(), waitMs: this.#waitMs() }));
  }

  /** Mostly at once, so that actors interact. */
  #waitMs(): number {
    if (this.#chance(0.5)) return 0;
    if (this.#abilities.time === 'real') return this.#between(1, 3);
    return this.#chance(0.1) ? this.#between(500, 3_000) : this.#between(1, 20);
  }

  #chance(probability: number): boolean {
    return this.#random.float() < probability;
  }

  #between(least: number, most: number): number {
    return least + randomBelow(this.#random, most - least + 1);
  }

  #pick<T>(list: readonly T[]): T {
    const item = list[randomBelow(this.#random, list.length)];
    if (item === undefined) throw new Error('there is nothing to pick from');
    return item;
  }
}

/** Follows everything from the beginning, and so knows of writes whose reply was lost. */
const witness: ActorPlan = {
  kind: 'reader',
  scope: {},
  include: ['lease', 'job'],
  overflow: 'block',
  maxEvents: 256,
  isByBatch: false,
  steps: [{ do: 'take', count: 10_000, waitMs: 0 }],
};
