// The kernel's Metrics port over prom-client, one registry per server.
//
// Only declared names are accepted: a metric that is not in docs/METRICS.md is a bug.
import {
  assert,
  type MetricDefinition,
  type MetricDefinitions,
  type Metrics,
} from '@syncline/kernel';
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  type GaugeConfiguration,
  Histogram,
  Registry,
} from 'prom-client';

/** 100 µs to 10 s, in seconds. */
const SECONDS_BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** One value of a metric, with its labels. */
export interface MetricSample {
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
}

export class PromMetrics implements Metrics {
  readonly #registry = new Registry();
  readonly #counters = new Map<string, Counter>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #histograms = new Map<string, Histogram>();

  constructor(definitions: readonly MetricDefinitions[]) {
    for (const list of definitions) {
      for (const [name, definition] of Object.entries(list)) this.#define(name, definition);
    }
  }

  /** Adds prom-client's `process_` and `nodejs_` metrics. Separate, since they cover the whole process. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.#registry });
  }

  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;

  /** All metrics in the Prometheus text format. */
  expose(): Promise<string> {
    return this.#registry.metrics();
  }

  /** The values of a counter, or how often a histogram was observed. */
  async read(name: string): Promise<readonly MetricSample[]> {
    const counter = this.#counters.get(name);
    if (counter !== undefined) return (await counter.get()).values;
    const { values } = await declared(this.#histograms, name, 'counter or histogram').get();
    return values.filter(({ metricName }) => metricName === `${name}_count`);
  }

  add(name: string, amount = 1, labels: Readonly<Record<string, string>> = {}): void {
    declared(this.#counters, name, 'counter').inc(labels, amount);
  }

  set(name: string, value: number, labels: Readonly<Record<string, string>> = {}): void {
    declared(this.#gauges, name, 'gauge').set(labels, value);
  }

  observe(name: string, value: number, labels: Readonly<Record<string, string>> = {}): void {
    declared(this.#histograms, name, 'histogram').observe(labels, value);
  }

  #define(name: string, definition: MetricDefinition): void {
    assert(!this.#registry.getSingleMetric(name), `metric ${name} is declared twice`);
    const base = {
      name,
      help: definition.help,
      labelNames: [...(definition.labels ?? [])],
      registers: [this.#registry],
    };
    switch (definition.kind) {
      case 'counter':
        this.#counters.set(name, new Counter(base));
        return;
      case 'gauge':
        this.#gauges.set(name, base.labelNames.length > 0 ? new Gauge(base) : unsetGauge(base));
        return;
      case 'histogram': {
        const buckets = [...(definition.buckets ?? SECONDS_BUCKETS)];
        this.#histograms.set(name, new Histogram({ ...base, buckets }));
      }
    }
  }
}

/**
 * prom-client exports an unlabeled gauge as 0 before it is set. For `syncline_fair_redis_connected`, for example,
 * that would look like an outage on servers that do not use Redis.
 */
function unsetGauge(base: GaugeConfiguration<string>): Gauge {
  const gauge = new Gauge(base);
  gauge.remove();
  return gauge;
}

function declared<T>(metrics: ReadonlyMap<string, T>, name: string, kind: string): T {
  const metric = metrics.get(name);
  assert(metric !== undefined, `${kind} ${name} is not declared in any metrics-list.ts`);
  return metric;
}
