// `syncline dev`: a local cluster in one terminal, one process per node.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { SynclineError } from '@syncline/kernel';
import { loadSettings, type SettingEntry } from '@syncline/server/config';
import type { Command } from 'commander';
import { type CliWorld, say } from '../cli-world.js';
import { announceCluster } from '../dev/announce-cluster.js';
import { checkPorts } from '../dev/dev-plan.js';
import type { LocalCluster } from '../dev/local-cluster.js';
import { refuseUsedPorts } from '../dev/refuse-used-ports.js';
import { startCluster } from '../dev/start-cluster.js';
import { addExamples } from '../examples.js';
import { cliLimits } from '../limits.js';
import { listenForStop } from '../serve/stop-request.js';
import { sayStopping } from '../serve/stopping-text.js';
import { addSettingFlags, settingFlags } from '../setting-flags.js';

type DevOptions = Readonly<Record<string, unknown>> & {
  readonly n?: string;
  readonly keepData?: string;
};

/** How long after the grace period a node that has not exited is killed. */
const LATE_MS = 2_000;

const OTHER_SETTINGS = `
Each node has its own id, directory and ports on 127.0.0.1. Other settings come
from SYNCLINE_* variables and the file in SYNCLINE_CONFIG; SYNCLINE_NODE_ID,
_DATA_DIR, _MEMORY and _LISTEN_HOST are ignored.`;

export function fillDevCommand(command: Command, world: CliWorld): void {
  addExamples(command, [
    ['syncline dev', 'three nodes, data removed on exit'],
    ['syncline dev -n 5 --keep-data ./cluster', 'five nodes, data kept'],
    ['syncline dev --http-port 8400', 'node 1 on 8400, node 2 on 8410, …'],
  ]);
  command
    .addHelpText('after', OTHER_SETTINGS)
    .option('-n <count>', 'Number of nodes (3)')
    .option('--keep-data <dir>', 'Keep the data of the nodes in this directory');
  const wanted = ({ key }: SettingEntry) => key.endsWith('.port') || key === 'log.level';
  addSettingFlags(command, wanted).action((options: DevOptions) => dev(world, options));
}

async function dev(world: CliWorld, options: DevOptions): Promise<void> {
  const nodesCount = parseCount(options.n ?? '3');
  const { environment } = world;
  const loaded = loadSettings({ flags: settingFlags(options), environment });
  const { settings } = loaded;
  checkPorts(settings, nodesCount);
  await refuseUsedPorts(settings, nodesCount);
  const { keepData } = options;
  const isKept = keepData !== undefined;
  const directory = isKept ? resolve(keepData) : mkdtempSync(join(tmpdir(), 'syncline-dev-'));
  const cleanUp = () => (isKept ? undefined : rmSync(directory, { recursive: true, force: true }));
  const cluster = await startCluster(world, settings, { nodesCount, directory });
  const stopRequest = listenForStop(world, () => {
    cluster.kill();
    cleanUp();
  });
  try {
    const isUp = await Promise.race([
      cluster.started().then(() => true),
      stopRequest.then(() => false),
    ]);
    if (!isUp) return;
    const hintSources = { ...loaded, file: undefined, environment };
    announceCluster(world, cluster.nodes, { directory, isKept, hintSources });
    await runUntilStopped(world, cluster, { stopRequest, isKept });
    sayStopping(world, settings.shutdown.graceMs);
  } finally {
    await cluster.stop(settings.shutdown.graceMs + LATE_MS);
    cleanUp();
  }
}

function parseCount(text: string): number {
  const max = cliLimits.devNodesMax.value;
  const count = /^\d+$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= max) return count;
  throw new SynclineError(
    'invalid-argument',
    `-n is ${JSON.stringify(text)}; expected an integer from 1 to ${max}.`,
  );
}

async function runUntilStopped(
  world: CliWorld,
  cluster: LocalCluster,
  { stopRequest, isKept }: { readonly stopRequest: Promise<unknown>; readonly isKept: boolean },
): Promise<void> {
  let isStopping = false;
  const allEnded = cluster.watch(({ nodeId, command }, how) => {
    if (isStopping) return;
    say(world, `syncline: node ${nodeId} exited (${how}). The others keep running. To restart it:`);
    say(world, `  ${command}`);
    if (!isKept) say(world, 'Stop it before you stop the others: that removes its data too.');
  });
  const isAsked = await Promise.race([stopRequest.then(() => true), allEnded.then(() => false)]);
  isStopping = true;
  if (!isAsked) throw new SynclineError('closed', 'all nodes have exited.');
}
