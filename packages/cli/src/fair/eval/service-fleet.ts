// Fleets that share state through the state service: a whole server in this process, with real sockets on loopback
// and simulated time.
import { grpcRemote } from '@syncline/fair/grpc';
import { type FleetSettings, type OpenFleet, openLockstepFleet } from '@syncline/fair/testing';
import { type Clock, createSystemClock, createSystemRandom, silentLogger } from '@syncline/kernel';
import { createSlices, type RunningServer, startServer } from '@syncline/server';
import { loadConfig } from '@syncline/server/config';
import { waitUntil } from './wait-until.js';

export const openServiceFleet: OpenFleet = async (settings) => {
  const server = await startStateService(settings);
  const port = server.listeners.find(({ listener }) => listener === 'grpc')?.port;
  return openLockstepFleet(
    {
      remote: grpcRemote({ address: `127.0.0.1:${port}`, tracker: 'eval' }),
      waitUntil,
      close: async () => void (await server.stop()),
    },
    settings,
  );
};

/** Starts without data, on free ports. Only the slice uses simulated time. */
async function startStateService({ clock, random }: FleetSettings): Promise<RunningServer> {
  const flags = new Map([
    ['memory', 'true'],
    ['listen_host', '127.0.0.1'],
    ['http.port', '0'],
    ['grpc.port', '0'],
  ]);
  const { config } = loadConfig({ flags, environment: {} });
  const systemClock = createSystemClock();
  const sliceClock: Clock = {
    ...clock.skewed(0),
    defer: (callback) => systemClock.defer(callback), // after what real sockets have delivered
  };
  const fair = createSlices().filter(({ name }) => name === 'fair');
  const slices = fair.map((slice) => ({
    ...slice,
    start: (deps: Parameters<typeof slice.start>[0]) =>
      slice.start({ ...deps, clock: sliceClock, random: random.fork('service') }),
  }));
  return startServer(
    { clock: systemClock, random: createSystemRandom(), logger: silentLogger, onListening() {} },
    config,
    slices,
  );
}
