// `syncline dev`: a local cluster in one terminal, one process per node.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { SynclineError } from '@syncline/kernel';
import { loadSettings, type SettingEntry } from '@syncline/server';
import type { Command } from 'commander';
import { type CliWorld, say } from '../cli-world.js';
import { announceCluster } from '../dev/announce-cluster.js';
import type { LocalCluster } from '../dev/local-cluster.js';
import { startCluster } from '../dev/start-cluster.js';
import { addExamples } from '../examples.js';
import { cliLimits } from '../limits.js';
import { listenForStop } from '../serve/stop-request.js';
import { addSettingFlags, settingFlags } from '../setting-flags.js';

type DevOptions = Readonly<Record<string, unknown>> & {
  readonly n?: string;
  readonly keepData?: string;
};

/** A node ends by itself within its grace time; what takes longer hangs. */
const LATE_MS = 2_000;

export function addDevCommand(program: Command, world: CliWorld): void {
  const command = program.command('dev').description('Run a local cluster in this terminal');
  addExamples(command, [
    ['syncline dev', 'three nodes, data removed at the end'],
    ['syncline dev -n 5 --keep-data ./cluster', 'five nodes, data kept'],
    ['syncline dev --http-port 8400', 'node 1 on 8400, node 2 on 8410, …'],
  ]);
  command
    .option('-n <count>', 'How many nodes (3)')
    .option('--keep-data <dir>', 'Keep the data of the nodes in this directory');
  const wanted = ({ key }: SettingEntry) => key.endsWith('.port') || key === 'log.level';
  addSettingFlags(command, wanted).action((options: DevOptions) => dev(world, options));
}

async function dev(world: CliWorld, options: DevOptions): Promise<void> {
  const nodesCount = parseCount(options.n ?? '3');
  const { settings } = loadSettings({
    flags: settingFlags(options),
    environment: world.environment,
  });
  const isTls = settings.tls.certFile !== undefined;
  const { keepData } = options;
  const isKept = keepData !== undefined;
  const directory = isKept ? resolve(keepData) : mkdtempSync(join(tmpdir(), 'syncline-dev-'));
  const cleanUp = () => (isKept ? undefined : rmSync(directory, { recursive: true, force: true }));
  const cluster = startCluster(world, settings, { nodesCount, directory });
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
    announceCluster(world, cluster.nodes, { directory, isKept, isTls });
    await runUntilStopped(world, cluster, stopRequest);
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
    `-n is ${JSON.stringify(text)}; allowed is a whole number from 1 to ${max}.`,
  );
}

async function runUntilStopped(
  world: CliWorld,
  cluster: LocalCluster,
  stopRequest: Promise<unknown>,
): Promise<void> {
  let isStopping = false;
  const allEnded = cluster.watch((nodeId, how) => {
    if (!isStopping) say(world, `syncline: node ${nodeId} ended (${how}). The others go on.`);
  });
  const isAsked = await Promise.race([stopRequest.then(() => true), allEnded.then(() => false)]);
  isStopping = true;
  if (!isAsked) throw new SynclineError('closed', 'no node is left, so there is nothing to run.');
  say(world, 'syncline: stopping all nodes. Once more ends them at once.');
}
