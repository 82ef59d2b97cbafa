// The servers of the jobs benches: `syncline serve` on its own directory, and a redis-server that syncs its file
// before it replies, as our writes do.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ClusterNode, makeTempDirectory, startCluster, startRedis } from '@syncline/testkit';
import { residentBytesOf } from './process-memory.js';

const LOOP_WATCH = fileURLToPath(new URL('./jobs-loop-watch.js', import.meta.url));
const READY_TIMEOUT_MS = 60_000;

export interface JobsServer extends AsyncDisposable {
  readonly node: ClusterNode;
  /** The gRPC address. */
  readonly address: string;
  residentBytes(): Promise<number>;
  /** The longest time that its event loop was blocked since the last call. */
  stallMs(): Promise<number>;
}

export async function startJobsServer(): Promise<JobsServer> {
  const directory = await makeTempDirectory('jobs-bench');
  const stallFile = join(directory.path, 'stalls');
  const cluster = await startCluster({
    nodes: 1,
    readyTimeoutMs: READY_TIMEOUT_MS,
    env: { NODE_OPTIONS: `--import=${LOOP_WATCH}`, BENCH_STALL_FILE: stallFile },
  });
  const node = cluster.node(1);
  let readCount = 0;
  return {
    node,
    address: node.url('grpc'),
    residentBytes: () => residentBytesOf(node.pid),
    async stallMs() {
      const stalls = (await readFile(stallFile, 'utf8')).split('\n').filter(Boolean).map(Number);
      const fresh = stalls.slice(readCount);
      readCount = stalls.length;
      return Math.max(0, ...fresh);
    },
    async [Symbol.asyncDispose]() {
      await cluster[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

export const startSyncedRedis = () => startRedis('--appendonly', 'yes', '--appendfsync', 'always');
