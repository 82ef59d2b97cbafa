// The composition root: configuration and slices in, a running server out.
import { type Clock, Lifecycle, type Logger, type Random, type StopReport } from '@syncline/kernel';
import type { ServerConfig } from './config/server-config.js';
import type { ListeningAddress } from './listener.js';
import type { Slice } from './slice.js';

export interface ServerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called once for each listener, as soon as it accepts. */
  onListening(listening: ListeningAddress): void;
}

export interface RunningServer {
  readonly listeners: readonly ListeningAddress[];
  /** Drains and stops everything within `shutdown.graceMs`. A second call joins the first. */
  stop(): Promise<StopReport>;
}

export async function startServer(
  deps: ServerDeps,
  config: ServerConfig,
  slices: readonly Slice[],
): Promise<RunningServer> {
  const lifecycle = new Lifecycle(deps);
  deps.logger.info('server starting', { slices: slices.map((slice) => slice.name) });
  return { listeners: [], stop: () => lifecycle.stop(config.shutdown.graceMs) };
}
