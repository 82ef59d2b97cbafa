// Starts a job server in this process, and writes to it as tasks do.
import { createJobManager, type JobStore } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { createSystemClock, createSystemRandom, silentLogger } from '@syncline/kernel';
import { createSlices, type RunningServer, startServer } from '@syncline/server';
import { loadConfig } from '@syncline/server/config';

export interface JobServer extends AsyncDisposable {
  readonly url: string;
  readonly store: JobStore;
  stop(): Promise<unknown>;
}

export interface JobServerOptions {
  /** Default: everything in memory. */
  readonly dataDir?: string;
  /** Default: any free port. */
  readonly httpPort?: number;
}

export async function startJobServer(options: JobServerOptions = {}): Promise<JobServer> {
  const { dataDir, httpPort = 0 } = options;
  const flags = new Map<string, string>([
    ['grpc.port', '0'],
    ['resp.port', '0'],
    ['http.port', String(httpPort)],
    dataDir === undefined ? ['memory', 'true'] : ['data_dir', dataDir],
  ]);
  const { config } = loadConfig({ flags, environment: {} });
  const server = await startServer(
    {
      clock: createSystemClock(),
      random: createSystemRandom(),
      logger: silentLogger,
      onListening() {},
    },
    config,
    createSlices().filter(({ name }) => name === 'jobs'),
  );
  const store = createRemoteJobStore({ address: `127.0.0.1:${portOf(server, 'grpc')}` });
  const stop = async () => {
    await store.close();
    return await server.stop();
  };
  return {
    url: `http://127.0.0.1:${portOf(server, 'http')}`,
    store,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

/** Each task of a job, ready to write. Its lease never expires. */
export function openTasks(store: JobStore, jobId: string, numTasks: number) {
  const tags = { ingest: {}, parse: {} };
  const tasks = Array.from({ length: numTasks }, (_, taskIndex) =>
    createJobManager({ store, jobId, taskIndex, numTasks }, { tags, lease: false }),
  );
  return Promise.all(tasks);
}

function portOf({ listeners }: RunningServer, name: string): number {
  return listeners.find(({ listener }) => listener === name)?.port ?? 0;
}
