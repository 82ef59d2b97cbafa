// What tests with real clients run against: our server, and Redis itself. Running the same test on both shows that it
// relies on what every Redis does, and not on what ours happens to do.
import { type ClusterNode, startRedis } from '@syncline/testkit';
import { startCluster } from './cluster.js';

export interface SetsTarget extends AsyncDisposable {
  readonly port: number;
  /** kill -9, and a new start with its data. Redis has none of it on disk, so it is left alone. */
  crash(whileDown?: () => void): Promise<void>;
}

export interface SetsTargetKind {
  readonly name: string;
  start(password?: string): Promise<SetsTarget>;
}

export const TARGETS: readonly SetsTargetKind[] = [
  { name: 'syncline', start: startWithPassword },
  { name: 'redis-server', start: startRealRedis },
];

export interface SetsNode extends SetsTarget {
  /** The process behind it, to be restarted or killed; its ports stay. */
  readonly node: ClusterNode;
}

export async function startSetsNode(env: Readonly<Record<string, string>> = {}): Promise<SetsNode> {
  const cluster = await startCluster({ nodes: 1, env });
  const node = cluster.node(1);
  return {
    node,
    port: node.address('resp').port,
    async crash(whileDown) {
      await node.kill();
      whileDown?.();
      await node.start();
    },
    [Symbol.asyncDispose]: () => Promise.resolve(cluster[Symbol.asyncDispose]()),
  };
}

export function startWithPassword(password?: string): Promise<SetsNode> {
  return startSetsNode(password === undefined ? {} : { SYNCLINE_RESP_PASSWORD: password });
}

async function startRealRedis(password?: string): Promise<SetsTarget> {
  const redis = await startRedis(...(password === undefined ? [] : ['--requirepass', password]));
  return { ...redis, crash: async (whileDown) => whileDown?.() };
}
