// `syncline demo`: three nodes and a series of acts, each of which checks its result.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SynclineError } from '@syncline/kernel';
import type { Command } from 'commander';
import { type CliWorld, say } from '../cli-world.js';
import { CommandExit } from '../command-exit.js';
import { DemoCluster } from '../demo/demo-cluster.js';
import { type Act, Stage } from '../demo/demo-stage.js';
import { fairAct } from '../demo/fair-act.js';
import { jobsAct } from '../demo/jobs-act.js';
import { setsAct } from '../demo/sets-act.js';
import { streamsAct } from '../demo/streams-act.js';
import { addExamples } from '../examples.js';
import { listenForStop } from '../serve/stop-request.js';

interface DemoOptions {
  readonly act?: string;
  readonly fast?: boolean;
  readonly json?: boolean;
}

const ACTS: readonly Act[] = [fairAct, jobsAct, setsAct, streamsAct];
const STOP_MS = 12_000;
/** As a shell reports a program that Ctrl-C has ended. */
const INTERRUPTED = 130;

export function fillDemoCommand(command: Command, world: CliWorld): void {
  addExamples(command, [
    ['syncline demo', 'all four parts; the dashboard stays open afterwards'],
    ['syncline demo --act sets', 'one part'],
    ['syncline demo --fast --json', 'for scripts: fast, with JSON lines'],
  ]);
  command
    .option('--act <name>', `Run one part of the demo: ${ACTS.map(({ name }) => name).join(', ')}`)
    .option('--fast', 'Skip pauses, do less work, and exit after the last part')
    .option('--json', 'Print JSON lines')
    .action((options: DemoOptions) => demo(world, options));
}

async function demo(world: CliWorld, options: DemoOptions): Promise<void> {
  const acts = chosenActs(options.act);
  const stop = new AbortController();
  const directory = mkdtempSync(join(tmpdir(), 'syncline-demo-'));
  const cleanUp = () => rmSync(directory, { recursive: true, force: true });
  const cluster = await DemoCluster.open(world, directory);
  const stopRequest = listenForStop(world, () => {
    cluster.kill();
    cleanUp();
  });
  void stopRequest.then(() => stop.abort());
  const isFast = options.fast === true;
  const isJson = options.json === true;
  const stage = new Stage({ world, cluster, directory, signal: stop.signal }, { isFast, isJson });
  let isInterrupted = false;
  try {
    await Promise.race([cluster.started(), rejectedBy(stop.signal)]);
    stage.started();
    for (const act of acts) await stage.play(act);
    stage.ended(acts.length);
    if (isFast) return;
    say(world, 'The nodes and the dashboard stay up. Press Ctrl-C to stop.');
    await stopRequest;
  } catch (thrown) {
    if (!stop.signal.aborted) throw thrown;
    isInterrupted = true;
  } finally {
    await cluster.close(STOP_MS);
    cleanUp();
  }
  if (!isInterrupted) return;
  say(world, 'Stopped.');
  throw new CommandExit(INTERRUPTED);
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(SynclineError.from(signal.reason, 'aborted'));
    signal.addEventListener('abort', stop, { once: true });
  });
}

function chosenActs(name: string | undefined): readonly Act[] {
  if (name === undefined) return ACTS;
  const found = ACTS.filter((act) => act.name === name);
  if (found.length > 0) return found;
  throw new SynclineError(
    'invalid-argument',
    `--act is ${JSON.stringify(name)}; expected one of: ${ACTS.map((act) => act.name).join(', ')}.`,
  );
}
