// Metrics as a port. Each package declares its metrics as data in `metrics-list.ts`, so that
// docs/METRICS.md is generated from the code and a typo in a name does not compile.

export type MetricKind = 'counter' | 'gauge' | 'histogram';

export interface MetricDefinition {
  readonly kind: MetricKind;
  readonly help: string;
  /** Label names. Values come from closed lists; never keys, members or tokens. */
  readonly labels?: readonly string[];
  /** Upper bounds of a histogram's buckets. Default: 100 µs to 10 s. */
  readonly buckets?: readonly number[];
}

/** Full names (`syncline_<slice>_<thing>_<unit>`) and what they count. */
export type MetricDefinitions = Readonly<Record<`syncline_${string}`, MetricDefinition>>;

export type Labels = Readonly<Record<string, string>>;

export interface Metrics<Name extends string = string> {
  /** Adds to a counter. */
  add(name: Name, amount?: number, labels?: Labels): void;
  /** Sets a gauge. */
  set(name: Name, value: number, labels?: Labels): void;
  /** Adds one observation to a histogram. */
  observe(name: Name, value: number, labels?: Labels): void;
}

export const silentMetrics: Metrics = { add() {}, set() {}, observe() {} };
