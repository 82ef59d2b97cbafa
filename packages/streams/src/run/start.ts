// `start`: opens the checkpoint directory and runs a pipeline on it.
import { resolve } from 'node:path';
import {
  type Clock,
  createMemoryStorage,
  createSystemClock,
  createSystemRandom,
  createWarningLogger,
  type Files,
  type Logger,
  type OptionNames,
  type Random,
  type Storage,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { checkKnownKeys, oneOf, refuseUnless } from '@syncline/kernel/checks';
import { createSystemFiles } from '@syncline/kernel/node';
import type { EndPorts } from '../ends/source.js';
import { streamsLimits } from '../limits.js';
import type { StreamsMetrics } from '../metrics-list.js';
import type { Pipeline } from '../pipeline/define.js';
import { attachEnds, type Graph, invalid } from '../pipeline/graph.js';
import { BUFFER } from '../pipeline/reorder.js';
import { KEY_GROUPS_DEFAULT } from '../state/key.js';
import { StoreDirectory } from '../store/directory.js';
import { restoreSavepoint, writeAutomaticSavepoint, writeSavepoint } from '../store/savepoint.js';
import type { SpawnWorkers } from '../workers/workers-engine.js';
import { allOrThrow } from './engine.js';
import { explainLocked, withSavepoints } from './explain-error.js';
import { type Around, observeAcks } from './observed.js';
import { ProgressGate, type ProgressReporter } from './progress.js';
import type { RecoveryDeps, RecoveryOptions } from './recovery.js';
import { PipelineRun } from './run.js';
import type { RunSettings } from './run-deps.js';
import { RunMetrics } from './run-metrics.js';

export interface StartOptions {
  /** The checkpoint directory. Without one, all state is lost when the process ends. */
  readonly dir?: string;
  readonly checkpoint?: {
    /** Default 1,000; at least 50. Output becomes visible at this interval. */
    readonly everyMs?: number;
    /** Also after this many records. Until that checkpoint is stored, reading pauses. Default: no limit. */
    readonly everyRecords?: number;
    /** Minimum time between two checkpoints. Default 100. */
    readonly minPauseMs?: number;
    /** A checkpoint whose commit has not begun by then is abandoned and retried. Default 60,000. */
    readonly timeoutMs?: number;
  };
  /** Ends the run immediately: nothing new is started, but a commit in progress is completed. */
  readonly signal?: AbortSignal;
  /** Where state is kept. Default `memory`. `embedded` state may be larger than the heap. */
  readonly state?: 'memory' | 'embedded';
  /** Default `strict` if every source is finite, otherwise `ready`. */
  readonly order?: 'strict' | 'ready';
  /** Default 128. Cannot be changed once the directory exists. */
  readonly keyGroups?: number;
  /** Memory for the cache of embedded state. Default 256 MiB. */
  readonly cacheBytesMax?: number;
  /** Uids of removed operators whose state may be deleted. */
  readonly dropState?: readonly string[];
  /** Partitions that may start from the beginning if their position was lost. */
  readonly acceptLoss?: readonly string[];
  /** A savepoint to start from, in an empty directory. Requires `repeats`. */
  readonly restoreFrom?: string;
  /** Accepts that output after the savepoint is written again, in addition to what the sinks have. */
  readonly repeats?: 'accept';
  /**
   * Number of threads that share the work, up to 64 and up to `keyGroups`. Default 1. More than one requires state in
   * memory, and the pipeline to be passed as the URL of a module that exports it. May change with every start.
   */
  readonly workers?: number;
  /** How long an aborted run waits for the sinks of a durable epoch. Default 10,000. */
  readonly stopGraceMs?: number;
  /** Minimum time for which delivered outbox parts are kept. Default 10,000. */
  readonly keepDeliveredMs?: number;
  readonly progress?: ProgressReporter;
}

/** The ports that `start` uses. By default, those of the system. */
export interface StartDeps {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly metrics?: StreamsMetrics;
  readonly files?: Files;
  /** Converts a user-supplied path to the form that `files` and `openStorage` expect. */
  readonly path?: (path: string) => string;
  readonly openStorage?: (path: string) => Promise<Storage>;
  /** Starts the workers. Default: as threads. */
  readonly spawnWorkers?: SpawnWorkers;
  /** Wraps every call of a sink and every acknowledgement, so that tests can end the process there. */
  readonly around?: Around;
}

const OPTIONS: OptionNames<StartOptions> = {
  dir: true,
  checkpoint: true,
  signal: true,
  state: true,
  order: true,
  keyGroups: true,
  cacheBytesMax: true,
  dropState: true,
  acceptLoss: true,
  restoreFrom: true,
  repeats: true,
  workers: true,
  stopGraceMs: true,
  keepDeliveredMs: true,
  progress: true,
};
const CHECKPOINT_OPTIONS: OptionNames<NonNullable<StartOptions['checkpoint']>> = {
  everyMs: true,
  everyRecords: true,
  minPauseMs: true,
  timeoutMs: true,
};

const EVERY_MS = 1_000;
const EVERY_MS_MIN = 50;

/** Resolves when recovery is complete and records are being read. */
export async function start(
  pipeline: Pipeline | URL,
  options: StartOptions = {},
  deps: StartDeps = {},
): Promise<PipelineRun> {
  checkOptions(options);
  const misplaced = Object.keys(deps).find((name) => Object.hasOwn(OPTIONS, name));
  if (misplaced !== undefined)
    throw invalid(misplaced, `${misplaced} is an option: pass it in the second argument of start`);
  const world = systemWorld(deps);
  const { clock, random, logger, files, path } = world;
  const { graph: built, workers } = await buildGraph(pipeline, options, deps);
  const graph = observed(built, deps.around);
  const ports: EndPorts = { files, path, clock, logger };
  attachEnds(graph, ports);
  const { dir } = options;
  const explain = (thrown: unknown) => withSavepoints(thrown, world, dir, ['corrupt', 'too-new']);
  const open = async () => {
    if (dir === undefined) return { reportedEpoch: 0, storage: createMemoryStorage() };
    const directory = await StoreDirectory.open(files, path(dir), clock, dir);
    const reportedEpoch = await directory.reportedEpoch();
    return { directory, reportedEpoch, storage: await world.openStorage(directory.storePath) };
  };
  const { directory, reportedEpoch, storage } = await open().catch(async (thrown: unknown) => {
    // LevelDB may report missing or damaged files as a plain I/O error.
    const codes = ['corrupt', 'too-new', 'storage-failed'];
    throw await withSavepoints(explainLocked(thrown, dir), world, dir, codes);
  });
  const save = async (name: string | undefined, epoch: number) => {
    if (directory === undefined) throw invalid('dir', 'a savepoint needs a checkpoint directory');
    using view = storage.snapshot();
    if (name !== undefined) {
      await writeSavepoint(files, directory.path, name, view, clock);
      return `${dir}/savepoints/${name}.snap`;
    }
    await writeAutomaticSavepoint(files, directory.path, epoch, view, clock);
    return '';
  };
  const close = async () => {
    try {
      await allOrThrow([
        ...graph.sources.map(({ source }) => source.close?.()),
        ...[...graph.sinks.values()].map((sink) => ('kind' in sink ? sink.close?.() : undefined)),
        directory?.leave(),
      ]);
    } finally {
      await storage.close(); // releases the lock, even if a source or sink throws
    }
  };
  const recoveryOptions = recoveryOptionsOf(options);
  const run = new PipelineRun({
    graph,
    storage,
    clock,
    random,
    logger,
    notices: world.notices,
    metrics: new RunMetrics(world.metrics, clock, graph.name),
    settings: settingsOf(options),
    progress: new ProgressGate(clock, logger, options.progress),
    report: (progress) => directory?.report(progress),
    close,
    explain,
    save,
    around: deps.around,
    reportedEpoch,
    workers,
    options: recoveryOptions,
  });
  try {
    if (options.restoreFrom !== undefined) {
      const place = path(options.restoreFrom);
      const bytes = await files.readAt(place, 0, (await files.stat(place))?.bytes ?? 0);
      const marks = await Promise.all([...graph.sinks.values()].map((sink) => sink.mark()));
      await restoreSavepoint(bytes, storage, { name: graph.name, ...recoveryOptions }, marks);
    }
    await directory?.announce();
    await run.begin(options.signal);
  } catch (thrown) {
    await close();
    throw await explain(thrown);
  }
  return run;
}

function observed(graph: Graph, around: Around | undefined): Graph {
  if (around === undefined) return graph;
  const sources = graph.sources.map((node) => ({
    ...node,
    source: observeAcks(node.source, around),
  }));
  return { ...graph, sources };
}

async function buildGraph(
  given: Pipeline | URL,
  options: StartOptions,
  { spawnWorkers }: StartDeps,
): Promise<Pick<RecoveryDeps, 'graph' | 'workers'>> {
  const { workers: count = 1, keyGroups = KEY_GROUPS_DEFAULT, state } = options;
  const { value: workersMax } = streamsLimits.workersMax;
  if (!Number.isInteger(count) || count < 1 || count > workersMax) {
    throw invalid('workers', `workers is ${count}; it must be an integer from 1 to ${workersMax}`);
  }
  if (count > keyGroups) {
    throw invalid('workers', `${count} workers cannot share ${keyGroups} key groups; use fewer`);
  }
  const { pipeline, spawn } = await pipelineAndWorkers(given, spawnWorkers);
  const graph = pipeline.build();
  if (count === 1) return { graph, workers: undefined };
  if (spawn === undefined) {
    throw invalid(
      'workers',
      'threads cannot share a pipeline object; pass the URL of a module that exports it, such as ' +
        "start(new URL('./clicks.js', import.meta.url), { workers: 2 })",
    );
  }
  if (state === 'embedded') {
    throw invalid('workers', "state: 'embedded' works with one worker only; use state in memory");
  }
  const ordered = graph.nodes.find(({ states }) => BUFFER in states);
  if (ordered !== undefined) {
    throw invalid(
      'workers',
      `reorder "${ordered.name}" with policy "sealed" works with one worker only; use "lww"`,
    );
  }
  return { graph, workers: { count, spawn } };
}

/** Threads import the module too. Their code is only loaded if it is needed. */
async function pipelineAndWorkers(given: Pipeline | URL, spawn: SpawnWorkers | undefined) {
  if (!(given instanceof URL)) return { pipeline: given, spawn };
  const { importPipeline, spawnThreads } = await import('../workers/worker-threads.js');
  return { pipeline: await importPipeline(given), spawn: spawn ?? spawnThreads(given) };
}

/** Options may come from a program without types. */
function checkOptions(options: StartOptions): void {
  checkKnownKeys(options, 'start', OPTIONS);
  const { checkpoint = {}, dir, state = 'memory', order = 'strict' } = options;
  const { restoreFrom, repeats } = options;
  checkKnownKeys(checkpoint, 'checkpoint', CHECKPOINT_OPTIONS);
  const numbers: readonly (readonly [string, number | undefined, number])[] = [
    ['checkpoint.everyMs', checkpoint.everyMs, EVERY_MS_MIN],
    ['checkpoint.everyRecords', checkpoint.everyRecords, 1],
    ['checkpoint.minPauseMs', checkpoint.minPauseMs, 0],
    ['checkpoint.timeoutMs', checkpoint.timeoutMs, 1],
    ['keyGroups', options.keyGroups, 1],
    ['cacheBytesMax', options.cacheBytesMax, 0],
    ['stopGraceMs', options.stopGraceMs, 0],
    ['keepDeliveredMs', options.keepDeliveredMs, 0],
  ];
  for (const [name, value, min] of numbers) {
    const isRight = value === undefined || (typeof value === 'number' && value >= min);
    refuseUnless(isRight, name, { value, wanted: `a number of at least ${min}` });
  }
  oneOf('memory', 'embedded')(state, 'state');
  oneOf('strict', 'ready')(order, 'order');
  if (dir === '') throw invalid('dir', 'dir is empty; name a directory, or omit it');
  if (restoreFrom !== undefined && repeats !== 'accept') {
    throw invalid(
      'repeats',
      'restoreFrom repeats all output after the savepoint; accept this with `repeats: "accept"`',
    );
  }
}

/** Ports that are not provided are those of the system. */
export function systemWorld(deps: StartDeps) {
  const clock = deps.clock ?? createSystemClock();
  const logger = deps.logger ?? silentLogger;
  const notices = deps.logger ?? createWarningLogger('@syncline/streams');
  const storageLogger = deps.logger ?? { ...silentLogger, error: notices.error }; // lost writes must be noticed
  return {
    clock,
    logger,
    notices,
    random: deps.random ?? createSystemRandom(),
    metrics: deps.metrics ?? silentMetrics,
    files: deps.files ?? createSystemFiles('/'),
    path: deps.path ?? ((given: string) => resolve(given).slice(1)),
    openStorage: deps.openStorage ?? systemStorage(clock, storageLogger),
  };
}

function settingsOf(options: StartOptions): RunSettings {
  const { checkpoint = {}, stopGraceMs = 10_000, state, cacheBytesMax } = options;
  const { everyMs = EVERY_MS, minPauseMs = 100 } = checkpoint;
  const { everyRecords = Number.POSITIVE_INFINITY } = checkpoint;
  const { dirtyBytesMax, outboxBytesMax, memoryStateBytesMax, checkpointTimeoutMs } = streamsLimits;
  // Changes stay in the cache until they are stored: those of one checkpoint together with those of the next.
  const cacheBytes = cacheBytesMax ?? streamsLimits.cacheBytesMax.value;
  const changedBytesMax = state === 'embedded' ? cacheBytes / 4 : Number.POSITIVE_INFINITY;
  return {
    everyMs,
    everyRecords,
    minPauseMs,
    stopGraceMs,
    dirtyBytesMax: Math.min(dirtyBytesMax.value, changedBytesMax),
    outboxBytesMax: outboxBytesMax.value,
    checkpointTimeoutMs: checkpoint.timeoutMs ?? checkpointTimeoutMs.value,
    memoryStateBytesMax: memoryStateBytesMax.value,
  };
}

function recoveryOptionsOf(options: StartOptions): RecoveryOptions {
  return {
    keyGroups: options.keyGroups ?? KEY_GROUPS_DEFAULT,
    backend: options.state ?? 'memory',
    cacheBytesMax: options.cacheBytesMax ?? streamsLimits.cacheBytesMax.value,
    order: options.order,
    dropState: options.dropState ?? [],
    acceptLoss: options.acceptLoss ?? [],
    keepDeliveredMs: options.keepDeliveredMs ?? 10_000,
  };
}

/** LevelDB is only loaded when a store is opened. */
function systemStorage(clock: Clock, logger: Logger): (path: string) => Promise<Storage> {
  return async (path) => {
    const { openLevelStorage } = await import('@syncline/kernel/level');
    return await openLevelStorage({ clock, logger }, { directory: `/${path}` });
  };
}
