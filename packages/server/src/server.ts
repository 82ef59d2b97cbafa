// The composition root: configuration and slices in, a running server out.
//
// Startup, in this order. If a step fails, the earlier ones are undone in reverse and the error is thrown:
//   1 the data directory is claimed; before it is created, the ports are checked
//   2 the slices start, in the given order
//   3 the listeners that the slices use are opened; HTTP last, so that the others are open when it responds
//   4 the server is ready
//
// Shutdown, in reverse order and within `shutdown.graceMs`:
//   4 not ready; the draining signal fires; all listeners refuse new requests and finish those in flight within
//     two thirds of the grace period; the remaining ones are aborted
//   3 the ports are closed, HTTP first; until then its own routes respond
//   2 the slices stop, last one first; each store is closed after its slice
//   1 the mesh closes its connections, then the directory is released
import {
  type Clock,
  Lifecycle,
  type LifecyclePart,
  type Logger,
  type Random,
  type StopReport,
  type SynclineError,
} from '@syncline/kernel';
import { checkListenHost } from './config/exposure.js';
import type { ServerConfig } from './config/server-config.js';
import { DataPart } from './data-part.js';
import type { ListenerName, ListeningAddress } from './listener.js';
import { ListenerPart } from './listener-part.js';
import { checkOpenFilesLimit } from './open-files-limit.js';
import { OPEN_LISTENER } from './open-listeners.js';
import { checkPorts } from './port-check.js';
import { createServerContext, type ServerContext } from './server-context.js';
import type { Slice } from './slice.js';
import { SlicePart } from './slice-part.js';
import { assertSlices, usedListeners } from './slice-set.js';
import { TrafficPart } from './traffic-part.js';

export interface ServerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called once for each listener, as soon as it accepts connections. */
  onListening(listening: ListeningAddress): void;
}

export interface RunningServer {
  readonly listeners: readonly ListeningAddress[];
  /** Resolves when all checks of /readyz pass for the first time: a slice may still be loading its data. */
  readonly ready: Promise<void>;
  /** Resolves when a slice cannot continue. The server keeps running: stop it, then report the error. */
  readonly failed: Promise<SynclineError>;
  /** Drains and stops everything within `shutdown.graceMs`. A second call returns the same promise. */
  stop(): Promise<StopReport>;
}

/**
 * Rejects with `locked` if another process is using the data directory, with `unavailable` if a port is in use,
 * and with `invalid-argument` if the server would be open to the network without authentication.
 */
export async function startServer(
  deps: ServerDeps,
  config: ServerConfig,
  slices: readonly Slice[],
): Promise<RunningServer> {
  assertSlices(slices);
  const names = usedListeners(slices, config);
  const warning = await checkListenHost(config, names);
  if (warning !== undefined) deps.logger.warn('configuration warning', { warning });
  const context = createServerContext(deps, config, slices);
  context.logger.info('server starting', { version: context.identity.version });
  context.metrics.watchProcess();
  checkOpenFilesLimit(context, config, names);
  await checkPorts(config, names);
  const { graceMs } = config.shutdown;
  const lifecycle = new Lifecycle(context);
  const ready = context.readiness.whenReady();

  const data = new DataPart(context);
  context.readiness.watchData(() => data.problem);
  const mesh = meshPart(context);
  const sliceParts = slices.map((slice) => createSlicePart(context, data, slice));
  const listenerParts = names.map((name) => createListenerPart(deps, context, name, sliceParts));
  const traffic = new TrafficPart({ ...context, listeners: listenerParts }, { graceMs });
  for (const part of [data, mesh, ...sliceParts, ...listenerParts, traffic]) {
    await lifecycle.start(drainOnFailedStart(part, context.drain), graceMs);
  }

  let stopped: Promise<StopReport> | undefined;
  const stop = (): Promise<StopReport> => {
    stopped ??= stopAndReport(lifecycle, context);
    return stopped;
  };
  return { listeners: context.listeners, ready, failed: context.failed, stop };
}

/** A slice opens the mesh. It is closed after all slices, so that peers get the last changes. */
function meshPart({ mesh }: ServerContext): LifecyclePart {
  return {
    name: 'mesh',
    start: () => Promise.resolve(),
    stop: () => mesh?.close() ?? Promise.resolve(),
  };
}

function createSlicePart(context: ServerContext, data: DataPart, slice: Slice): SlicePart {
  const { name } = slice;
  const part = new SlicePart(
    {
      ...context,
      logger: context.logger.child({ slice: name }),
      openStorage: (directory) => data.openStorage(directory),
      openFiles: (directory) => data.openFiles(directory),
      limitReached: (limit) => context.limits.reached(name, limit),
    },
    slice,
  );
  context.readiness.addSlice(part);
  return part;
}

function createListenerPart(
  deps: ServerDeps,
  context: ServerContext,
  name: ListenerName,
  slices: readonly SlicePart[],
): ListenerPart {
  const opened = (address: ListeningAddress): void => {
    context.listeners.push(address);
    context.logger.info('listening', { ...address });
    deps.onListening(address);
  };
  return new ListenerPart({ open: () => OPEN_LISTENER[name](context, slices), opened }, name);
}

/** If a part fails to start, the slices that have started must receive the draining signal before they stop. */
function drainOnFailedStart(part: LifecyclePart, drain: AbortController): LifecyclePart {
  return {
    name: part.name,
    stop: (signal) => part.stop(signal),
    async start() {
      try {
        await part.start();
      } catch (thrown) {
        drain.abort();
        throw thrown;
      }
    },
  };
}

async function stopAndReport(lifecycle: Lifecycle, context: ServerContext): Promise<StopReport> {
  context.logger.info('server stopping');
  const report = await lifecycle.stop(context.config.shutdown.graceMs);
  context.logger.info('server stopped', { inTime: report.inTime });
  return report;
}
