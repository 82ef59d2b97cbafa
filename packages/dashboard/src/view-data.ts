// The data of each view, as the server sends it, and the rows of charts.

/** Seconds since the epoch, then one row per series. */
export type ChartRows = readonly (readonly number[])[];

export interface Rate {
  readonly name: string;
  readonly perSecond: number;
  readonly history: readonly number[];
  readonly byLabel: Readonly<Record<string, number>>;
}

export interface PeerData {
  readonly nodeId: number;
  readonly address: string;
  readonly state: 'connecting' | 'connected' | 'behind' | 'down';
  readonly sinceMs: number;
  readonly silentMs?: number;
  readonly lagOperations: number;
  readonly lagMs: number;
  readonly unackedOperations: number;
  readonly pendingOperations: number;
  readonly retries: number;
  readonly reconnects: number;
  readonly lastError?: string;
}

export interface SliceData {
  readonly name: string;
  readonly health: { readonly kind: 'ready' | 'not-ready' | 'failed'; readonly reason?: string };
  readonly storage?: { readonly kind: string; readonly reason?: string };
  readonly details: Readonly<Record<string, unknown>>;
  readonly rates: readonly Rate[];
}

export interface OverviewData {
  readonly nodeId: number;
  readonly clusterId: string;
  readonly version: string;
  readonly nodeVersion: string;
  readonly startedAtMs: number;
  readonly uptimeMs: number;
  readonly isReady: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly ok: boolean;
    readonly isFatal: boolean;
    readonly reason?: string;
  }[];
  readonly listeners: readonly {
    readonly listener: string;
    readonly host: string;
    readonly port: number;
  }[];
  readonly dataDir?: string;
  readonly slices: readonly SliceData[];
  readonly peers: readonly PeerData[];
  readonly limitsReached: readonly {
    readonly package: string;
    readonly limit: string;
    readonly count: number;
    readonly lastMs: number;
  }[];
}

export interface TrackerData {
  readonly tracker: string;
  readonly config?: {
    readonly levels: number;
    readonly columns: number;
    readonly policy: string;
    readonly ratePerSecond: number;
    readonly windowMs: number;
  };
  readonly epoch: number;
  readonly streams: number;
  readonly streamsBehind: number;
  readonly instances: number;
  readonly cells: number;
  readonly seeds: readonly {
    readonly seed: string;
    readonly cells: number;
    readonly idleMs: number;
  }[];
}

export interface FairData {
  readonly streams: number;
  readonly streamsMax: number;
  readonly isReachable: boolean;
  readonly rates: readonly Rate[];
  readonly trackers: readonly TrackerData[];
  readonly shown?: string;
  readonly callers: readonly {
    readonly key: string;
    readonly probability: number;
    readonly throttledPerSecond: number;
    readonly instances: number;
  }[];
  /** Seed, row, column, probability in per mille, age in ms or -1. */
  readonly cells?: readonly (readonly [number, number, number, number, number])[];
}

export interface JobInfoData {
  readonly jobId: string;
  readonly numTasks: number;
  readonly expectedTags: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAtMs: number;
  readonly changedAtMs: number;
  readonly deletedAtMs?: number;
  readonly revision: number;
}

export interface CountsData {
  readonly notStarted: number;
  readonly running: number;
  readonly finished: number;
  readonly warned: number;
  readonly failed: number;
  readonly total: number;
}

export interface JobsData {
  readonly jobs: readonly {
    readonly job: JobInfoData;
    readonly cells: CountsData;
    readonly percent: number;
    readonly lostTasks: number;
  }[];
  readonly damaged: readonly string[];
  readonly hasMore: boolean;
  readonly rates: readonly Rate[];
}

export interface ShownBytes {
  readonly text: string;
  readonly id: string;
  readonly bytes: number;
  readonly isBinary: boolean;
}

export interface SetsData {
  readonly nodeId: number;
  readonly health: 'loading' | 'ready' | 'full' | 'failed';
  readonly reason?: string;
  readonly epoch: number;
  readonly sets: number;
  readonly liveDots: number;
  readonly memoryBytes: number;
  readonly logBytes: number;
  readonly checkpoint: {
    readonly bytes: number;
    readonly takenMs: number;
    readonly isRunning: boolean;
  };
  readonly connections: number;
  readonly replication?: {
    readonly isCaughtUp: boolean;
    readonly divergedPeers: readonly number[];
    readonly pulls: readonly { readonly peer: number; readonly last?: PullData }[];
    readonly peers: readonly PeerData[];
  };
  readonly version: string;
  readonly xor: string;
  readonly rates: readonly Rate[];
  readonly list: readonly (ShownBytes & { readonly cardinality: number })[];
  readonly next: number;
}

export interface PullData {
  readonly trigger: string;
  readonly outcome: string;
  readonly isEqual: boolean;
  readonly endedAtMs: number;
  readonly tookMs: number;
  readonly bytes: number;
}

export interface SetData {
  readonly set: ShownBytes;
  readonly cardinality: number;
  readonly isLoading: boolean;
  readonly members: readonly ShownBytes[];
  readonly next: number;
}

export interface PipelineData {
  readonly pipeline: string;
  readonly slot: number;
  readonly state: string;
  readonly epoch: number;
  readonly generation: number;
  readonly recordsIn: number;
  readonly recordsOut: number;
  readonly recordsInPerSecond: number;
  readonly recordsOutPerSecond: number;
  readonly rates: readonly number[];
  readonly lagRecords?: number | null;
  readonly watermarkMs?: number | null;
  readonly heldBackBy?: string | null;
  readonly lastCheckpointMs?: number | null;
  readonly checkpointBytes?: number | null;
  readonly error?: string | null;
  readonly reportedAtMs: number;
  /** When the epoch was first reported. */
  readonly epochAtMs: number;
}

export interface StreamsData {
  readonly pipelines: readonly PipelineData[];
}
