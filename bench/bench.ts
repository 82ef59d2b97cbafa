// The shape of a bench: one task, done by Syncline and by peers in turn, so that only ratios need to be
// compared between machines. A slice adds a file with its benches and a line in `run.ts`.
//
// Most benches count what is done per second, and more is better. Some measure what something costs, such as
// a time, and less is better. The ratio is ours over the peer's in both.

/** A program that does the task. The first of a bench is Syncline, the others are its peers. */
export interface Contestant<Subject> {
  /** The name, including settings that matter. It is the `peer` of the JSON lines, so without a version. */
  readonly name: string;
  /** The version of a program or library that is not ours: `3.0.0`. */
  readonly version?: string;
  open(): Promise<Subject & AsyncDisposable>;
}

/** A bench of speed or of cost. */
export type Bench<Subject> = RateBench<Subject> | CostBench<Subject>;

interface RateBench<Subject> extends BenchCommon<Subject> {
  readonly better?: 'more';
  readonly unit: `${string}/s`;
  /** One run, which is timed; `round` counts from 0. Returns how many units were done. */
  run(subject: Subject, round: number): Promise<number>;
}

interface CostBench<Subject> extends BenchCommon<Subject> {
  readonly better: 'less';
  /** `ms`, `MiB`. */
  readonly unit: string;
  /** One run; `round` counts from 0. Returns what it has measured. */
  run(subject: Subject, round: number): Promise<number>;
}

interface BenchCommon<Subject> {
  readonly name: string;
  /** What is done, with sizes and counts. */
  readonly about: string;
  readonly contestants: readonly [Contestant<Subject>, ...Contestant<Subject>[]];
  /** A bound. It is listed among the peers, as one that always reaches it. */
  readonly bound?: { readonly name: string; readonly value: number };
  /** It takes a minute or more, so it only runs if it is named. */
  readonly isLong?: boolean;
  /** Called once per contestant, before its first run. */
  prepare?(subject: Subject): Promise<void>;
}

export type Better = 'more' | 'less';

/** A bench with its subject type hidden. */
export interface AnyBench {
  readonly name: string;
  readonly unit: string;
  readonly better: Better;
  readonly about: string;
  readonly isLong: boolean;
  /** Peers that are not ours, with their versions: `classic-level 3.0.0`. */
  readonly versions: readonly string[];
  /** Values per contestant, in the order of the contestants; `runs` of each. */
  measure(runs: number): Promise<readonly Measured[]>;
}

export interface Measured {
  readonly contestant: string;
  readonly version?: string;
  readonly values: readonly number[];
}

/** Ours against one peer. The fields are those of the JSON lines. */
export interface Comparison {
  readonly bench: string;
  readonly unit: string;
  readonly value: number;
  readonly peer: string;
  readonly peerValue: number;
  /** Ours over the peer's. */
  readonly ratio: number;
  /** Which ratios are good: above 1, or below it. */
  readonly better: Better;
  /** Runs of each side. */
  readonly n: number;
  /** Half the range from the lowest to the highest run, relative to the median; of the wider side. */
  readonly spread: number;
}
