// The shape of a bench: one task, done by ours and by peers in turn, so that only ratios need be
// compared between machines. A slice adds a file with its benches and a line in `run.ts`.

/** One who does the task. The first of a bench is ours, the others are its peers. */
export interface Contestant<Subject> {
  /** With the settings that matter. It is the `peer` of the JSON lines, so without a version. */
  readonly name: string;
  /** Of a program or library that is not ours: `3.0.0`. */
  readonly version?: string;
  open(): Promise<Subject & AsyncDisposable>;
}

export interface Bench<Subject> {
  readonly name: string;
  /** What the value counts. Always a rate: more is better. */
  readonly unit: `${string}/s`;
  /** What is done, with sizes and counts. */
  readonly about: string;
  readonly contestants: readonly [Contestant<Subject>, ...Contestant<Subject>[]];
  /** Called once per contestant, before its first run. */
  prepare?(subject: Subject): Promise<void>;
  /** One run; `round` counts from 0. Returns how many of the unit were done. */
  run(subject: Subject, round: number): Promise<number>;
}

/** A bench whose subject is nobody else's business. */
export interface AnyBench {
  readonly name: string;
  readonly unit: string;
  readonly about: string;
  /** Peers that are not ours, with their versions: `classic-level 3.0.0`. */
  readonly versions: readonly string[];
  /** Rates per contestant, in the order of the contestants; `runs` of each. */
  measure(runs: number): Promise<readonly Measured[]>;
}

export interface Measured {
  readonly contestant: string;
  readonly version?: string;
  readonly rates: readonly number[];
}

/** Ours against one peer. The fields are those of the JSON lines. */
export interface Comparison {
  readonly bench: string;
  readonly unit: string;
  readonly value: number;
  readonly peer: string;
  readonly peerValue: number;
  readonly ratio: number;
  /** Runs of each side. */
  readonly n: number;
  /** Half of the way from the lowest to the highest run, as a part of the median; of the wider side. */
  readonly spread: number;
}
