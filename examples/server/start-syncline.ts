// What `npx syncline serve` runs, in the process of an example and on ports that the system chooses.
import { createSystemClock, createSystemRandom, silentLogger } from '@syncline/kernel';
import { createSlices, type RunningServer, startServer } from '@syncline/server';
import { loadConfig } from '@syncline/server/config';

export interface StartedSyncline {
  readonly server: RunningServer;
  portOf(listener: 'http' | 'grpc' | 'resp'): number;
}

/** Settings as in docs/CONFIG.md: `{ data_dir: 'DIR' }`, `{ memory: 'true' }`. */
export async function startSyncline(
  settings: Readonly<Record<string, string>>,
): Promise<StartedSyncline> {
  const ports = { 'http.port': '0', 'grpc.port': '0', 'resp.port': '0' };
  const flags = new Map(Object.entries({ ...ports, ...settings }));
  const { config } = loadConfig({ environment: {}, flags });
  const ground = { clock: createSystemClock(), random: createSystemRandom() };
  const deps = { ...ground, logger: silentLogger, onListening() {} };
  const server = await startServer(deps, config, createSlices());
  return {
    server,
    portOf: (wanted) => server.listeners.find(({ listener }) => listener === wanted)?.port ?? 0,
  };
}
