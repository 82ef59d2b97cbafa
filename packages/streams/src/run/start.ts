// `start`: opens the checkpoint directory and runs a pipeline on it.
import { resolve } from 'node:path';
import {
  type Clock,
  createMemoryStorage,
  createSystemClock,
  createSystemFiles,
  createSystemRandom,
  type Files,
  type Logger,
  type Random,
  type Storage,
  SynclineError,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import type { EndPorts } from '../ends/source.js';
import { streamsLimits } from '../limits.js';
import type { StreamsMetrics } from '../metrics-list.js';
import type { Pipeline } from '../pipeline/define.js';
import { invalid } from '../pipeline/graph.js';
import { KEY_GROUPS_DEFAULT } from '../state/key.js';
import { StoreDirectory } from '../store/directory.js';
import {
  listSavepoints,
  restoreSavepoint,
  writeAutomaticSavepoint,
  writeSavepoint,
} from '../store/savepoint.js';
import type { Around } from './observed.js';
import { ProgressGate, type ProgressReporter } from './progress.js';
import type { RecoveryOptions } from './recovery.js';
import { PipelineRun, type RunSettings } from './run.js';
import { RunMetrics } from './run-metrics.js';

export interface StartOptions {
  /** The directory that is the pipeline's memory. Without one it lives and dies with the process. */
  readonly dir?: string;
  readonly checkpoint?: {
    /** Default 1,000; at least 50. Output becomes visible at this pace. */
    readonly everyMs?: number;
    /** Also after this many records. Default: no limit. */
    readonly everyRecords?: number;
    /** Least time between two checkpoints. Default 100. */
    readonly minPauseMs?: number;
  };
  /** Ends the run at once: nothing new begins, what is being committed is completed. */
  readonly signal?: AbortSignal;
  /** Where state lives. Default `memory`. `embedded` state may exceed the heap. */
  readonly state?: 'memory' | 'embedded';
  /** Default `strict` if every source ends, else `ready`. */
  readonly order?: 'strict' | 'ready';
  /** Default 128. Cannot change once the directory exists. */
  readonly keyGroups?: number;
  /** Memory for the cache of embedded state. Default 256 MiB. */
  readonly cacheBytesMax?: number;
  /** Uids of removed operators whose state may be deleted. */
  readonly dropState?: readonly string[];
  /** Partitions that may start again after their position was lost. */
  readonly acceptLoss?: readonly string[];
  /** A savepoint to begin from, in an empty directory. Needs `repeats`. */
  readonly restoreFrom?: string;
  /** Agrees that output after the savepoint is written again, behind what the sinks have. */
  readonly repeats?: 'accept';
  /** How long an aborted run waits for the sinks of a durable epoch. Default 10,000. */
  readonly stopGraceMs?: number;
  /** How long delivered outbox parts are kept at least. Default 10,000. */
  readonly keepDeliveredMs?: number;
  readonly progress?: ProgressReporter;
}

/** What `start` needs of the world; the defaults are the system's. */
export interface StartDeps {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly metrics?: StreamsMetrics;
  readonly files?: Files;
  /** A path of the user's, as `files` and `openStorage` want it. */
  readonly path?: (path: string) => string;
  readonly openStorage?: (path: string) => Promise<Storage>;
  /** Called around every call of a sink and every acknowledgement, so that tests can end the process there. */
  readonly around?: Around;
}

const EVERY_MS = 1_000;
const EVERY_MS_MIN = 50;

/** Resolves when recovery is complete and records are being read. */
export async function start(
  pipeline: Pipeline,
  options: StartOptions = {},
  deps: StartDeps = {},
): Promise<PipelineRun> {
  checkOptions(options);
  const world = withDefaults(deps);
  const { clock, random, logger, files, path } = world;
  const graph = pipeline.build();
  const ports: EndPorts = { files, path, clock, logger };
  for (const { source } of graph.sources) source.attach?.(ports);
  for (const sink of graph.sinks.values()) if (!('kind' in sink)) sink.attach?.(ports);
  const directory =
    options.dir === undefined
      ? undefined
      : await StoreDirectory.open(files, path(options.dir), clock);
  const storage =
    directory === undefined ? createMemoryStorage() : await world.openStorage(directory.storePath);
  const reportedEpoch = (await directory?.reportedEpoch()) ?? 0;
  const save = async (name: string | undefined, epoch: number) => {
    if (directory === undefined) throw invalid('dir', 'a savepoint needs a checkpoint directory');
    using view = storage.snapshot();
    if (name !== undefined) return await writeSavepoint(files, directory.path, name, view);
    await writeAutomaticSavepoint(files, directory.path, epoch, view);
    return '';
  };
  const close = async () => {
    for (const { source } of graph.sources) await source.close?.();
    for (const sink of graph.sinks.values()) if ('kind' in sink) await sink.close?.();
    await directory?.leave();
    await storage.close();
  };
  const run = new PipelineRun({
    graph,
    storage,
    clock,
    random,
    logger,
    metrics: new RunMetrics(world.metrics, clock, graph.name),
    settings: settingsOf(options),
    progress: new ProgressGate(clock, logger, options.progress),
    report: (each) => directory?.report(each.progress()),
    close,
    save,
    around: deps.around,
    reportedEpoch,
    options: recoveryOptionsOf(options),
  });
  try {
    if (options.restoreFrom !== undefined) {
      const place = path(options.restoreFrom);
      const bytes = await files.readAt(place, 0, (await files.stat(place))?.bytes ?? 0);
      const marks = await Promise.all([...graph.sinks.values()].map((sink) => sink.mark()));
      await restoreSavepoint(bytes, storage, options.state ?? 'memory', marks);
    }
    await directory?.announce();
    await run.begin(options.signal);
  } catch (thrown) {
    await close();
    throw await withSavepoints(thrown, files, directory);
  }
  return run;
}

function checkOptions({ checkpoint, restoreFrom, repeats }: StartOptions): void {
  const everyMs = checkpoint?.everyMs ?? EVERY_MS;
  if (!(everyMs >= EVERY_MS_MIN)) {
    throw invalid(
      'everyMs',
      `checkpoint.everyMs is ${everyMs}; it must be at least ${EVERY_MS_MIN}`,
    );
  }
  if (restoreFrom !== undefined && repeats !== 'accept') {
    throw invalid(
      'repeats',
      'restoreFrom repeats all output after the savepoint; agree to it with `repeats: "accept"`',
    );
  }
}

function withDefaults(deps: StartDeps) {
  const clock = deps.clock ?? createSystemClock();
  const logger = deps.logger ?? silentLogger;
  return {
    clock,
    logger,
    random: deps.random ?? createSystemRandom(),
    metrics: deps.metrics ?? silentMetrics,
    files: deps.files ?? createSystemFiles('/'),
    path: deps.path ?? ((given: string) => resolve(given).slice(1)),
    openStorage: deps.openStorage ?? systemStorage(clock, logger),
  };
}

function settingsOf({ checkpoint = {}, stopGraceMs = 10_000 }: StartOptions): RunSettings {
  const { everyMs = EVERY_MS, minPauseMs = 100 } = checkpoint;
  const { everyRecords = Number.POSITIVE_INFINITY } = checkpoint;
  const { dirtyBytesMax, memoryStateBytesMax } = streamsLimits;
  return {
    everyMs,
    everyRecords,
    minPauseMs,
    stopGraceMs,
    dirtyBytesMax: dirtyBytesMax.value,
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

/** Damage cannot be repaired here, so the error names what can be restored instead. */
async function withSavepoints(
  thrown: unknown,
  files: Files,
  directory: StoreDirectory | undefined,
): Promise<unknown> {
  if (!(thrown instanceof SynclineError) || thrown.code !== 'corrupt' || directory === undefined) {
    return thrown;
  }
  const savepoints = await listSavepoints(files, directory.path).catch(() => []);
  const advice =
    savepoints.length === 0
      ? 'There is no savepoint; restore the directory from a backup.'
      : `Restore from a savepoint into a new directory: ${savepoints.join(', ')}.`;
  return new SynclineError('corrupt', `${thrown.message}. Nothing was changed. ${advice}`, {
    details: { ...thrown.details, savepoints },
    cause: thrown,
  });
}

/** LevelDB is loaded by the kernel when a store is opened, not before. */
function systemStorage(clock: Clock, logger: Logger): (path: string) => Promise<Storage> {
  return async (path) => {
    const { openLevelStorage } = await import('@syncline/kernel');
    return await openLevelStorage({ clock, logger }, { directory: `/${path}` });
  };
}
