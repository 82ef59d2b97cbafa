// The three scenarios of FAIR's evaluation: clients of several classes want one resource of limited
// capacity. Values are those that FAIR published its results for.

export interface ClientClass {
  readonly name: string;
  readonly clients: number;
  readonly requestsPerSecond: number;
  /** When its clients send requests; default: all the time. */
  readonly fromSeconds?: number;
  readonly toSeconds?: number;
}

export interface Scenario {
  readonly name: string;
  /** Of its random numbers. */
  readonly seed: number;
  readonly durationSeconds: number;
  /** Tokens per second, and the most that the bucket holds. */
  readonly capacityPerSecond: number;
  readonly classes: readonly ClientClass[];
}

export const scenarios = {
  apiNoisyNeighbors: {
    name: 'api_noisy_neighbors',
    seed: 1000,
    durationSeconds: 300,
    capacityPerSecond: 100,
    classes: [
      { name: 'steady', clients: 180, requestsPerSecond: 0.5 },
      { name: 'aggressive', clients: 20, requestsPerSecond: 10 },
    ],
  },
  flashCrowd: {
    name: 'flash_crowd',
    seed: 1001,
    durationSeconds: 120,
    capacityPerSecond: 300,
    classes: [{ name: 'shopper', clients: 500, requestsPerSecond: 1 }],
  },
  batchSurge: {
    name: 'batch_surge',
    seed: 1002,
    durationSeconds: 360,
    capacityPerSecond: 120,
    classes: [
      { name: 'interactive', clients: 100, requestsPerSecond: 1 },
      { name: 'batch', clients: 10, requestsPerSecond: 30, fromSeconds: 90, toSeconds: 270 },
    ],
  },
} as const satisfies Readonly<Record<string, Scenario>>;

/** `steady-000` and so on, class by class. */
export function clientIds({ classes }: Scenario): string[] {
  return classes.flatMap(({ name, clients }) =>
    Array.from({ length: clients }, (_, index) => `${name}-${String(index).padStart(3, '0')}`),
  );
}
