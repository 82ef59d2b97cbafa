// Runs a pipeline in a simulation and injects a fault at every step: each write, sync, rename and removal on disk, each
// call of a sink and each acknowledgement of a source. See crash-point.ts for the kinds of faults.
//
// After each crash the pipeline is restarted. The output of the sinks must then be a prefix of the output of a run
// without crashes, and equal to it in the end.
//
// The pipeline must be deterministic: finite sources, strict order, no clock timers, no randomness.
import type { Files } from '@syncline/kernel';
import {
  createSeededRandom,
  type SimNode,
  type SimPorts,
  Simulation,
} from '@syncline/kernel/testing';
import type { Pipeline } from '../pipeline/define.js';
import type { PipelineRun } from '../run/run.js';
import { type StartOptions, start as startPipeline } from '../run/start.js';
import { inspectDirectory } from '../store/inspect.js';
import { type CrashKind, type CrashPoint, pointsOf, Steps } from './crash-point.js';

/** Created for each run, so that only the simulated disk and your own targets survive a crash. */
export interface CrashSubject {
  readonly pipeline: Pipeline;
  /** Input files, by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** The output that readers see, by sink. Default: part files, by directory. */
  output?(files: Files): Promise<Readonly<Record<string, string>>>;
}

export interface CrashTestOptions {
  /** Maximum number of crashes to try, spread evenly over all possible ones. Default: all single crashes. */
  readonly statesMax?: number;
  /** Kinds of faults to inject. Default: all. */
  readonly kinds?: readonly CrashKind[];
  /** Runs that crash repeatedly, during recovery and after it. Default 0. */
  readonly chains?: number;
  /** Crashes per such run. Default 4. */
  readonly chainCrashes?: number;
  readonly seed?: number;
  /** Stops after this many failures. Default 20. */
  readonly failuresMax?: number;
  /** Default: a checkpoint every 20 records. */
  readonly start?: StartOptions;
  /** The `start` function to test. Default: the one of this package. */
  readonly startWith?: typeof startPipeline;
}

export interface CrashReport {
  /** Steps of a run without crashes, by kind. */
  readonly boundaries: Readonly<Record<string, number>>;
  /** Checkpoints of a run without crashes. With fewer than two, no crash has any state to restore. */
  readonly checkpoints: number;
  /** Number of possible single crashes: the faults of each step, over all steps. */
  readonly points: number;
  /** Crashes that were tried. */
  readonly states: number;
  /** Empty if the test passed. */
  readonly failures: readonly string[];
}

type Output = Readonly<Record<string, string>>;

export async function crashTest(
  setup: () => CrashSubject,
  options: CrashTestOptions = {},
): Promise<CrashReport> {
  const { seed = 1, chains = 0, chainCrashes = 4, failuresMax = 20 } = options;
  const reference = await runOnce(setup, options, []);
  if (reference.error !== undefined) {
    throw new Error(`the pipeline fails without any crash: ${reference.error}`);
  }
  if (Object.values(reference.output).every((text) => text === '')) {
    throw new Error(
      'the pipeline has no output to compare: part files are found automatically; for other sinks, provide `output`',
    );
  }
  const points = pointsOf(reference.kinds, seed).filter(
    ({ kind }) => options.kinds?.includes(kind) ?? true,
  );
  const statesMax = Math.min(options.statesMax ?? points.length, points.length);
  const chosen = Array.from(
    { length: statesMax },
    (_, index) => points[Math.floor((index * points.length) / statesMax)] as CrashPoint,
  );
  const runs: (readonly CrashPoint[])[] = chosen.map((point) => [point]);
  const random = createSeededRandom(`crash-test/${seed}`);
  const pick = () => points[Math.floor(random.float() * points.length)] as CrashPoint;
  for (let count = 0; count < chains; count += 1) {
    // Favors early steps: those of the recovery come first.
    const again = () => points[Math.floor(random.float() ** 2 * points.length)] as CrashPoint;
    runs.push([pick(), ...Array.from({ length: chainCrashes - 1 }, again)]);
  }
  const failures: string[] = [];
  let states = 0;
  for (const crashes of runs) {
    const outcome = await runOnce(setup, options, crashes, reference.output);
    states += outcome.crashed;
    const error = outcome.error ?? (outcome.crashed === 0 ? 'the step was not reached' : undefined);
    if (error !== undefined) {
      const where = crashes.map(({ step, moment, kind }) => `${kind} ${moment} step ${step}`);
      failures.push(`${where.join(', then ')} (${outcome.at}): ${error}`);
      if (failures.length >= failuresMax) break;
    }
  }
  const boundaries: Record<string, number> = {};
  for (const kind of reference.kinds) boundaries[kind] = (boundaries[kind] ?? 0) + 1;
  return { boundaries, checkpoints: reference.epoch, points: points.length, states, failures };
}

interface Outcome {
  readonly kinds: readonly string[];
  readonly epoch: number;
  readonly output: Output;
  readonly error: string | undefined;
  /** Number of crashes that happened. */
  readonly crashed: number;
  /** The step of the first crash. */
  readonly at: string;
}

/** Runs a pipeline from its first start to its end, with these crashes. */
async function runOnce(
  setup: () => CrashSubject,
  options: CrashTestOptions,
  crashes: readonly CrashPoint[],
  expected?: Output,
): Promise<Outcome> {
  const limits = { eventsMax: 400_000, timeMsMax: 600_000 };
  const simulation = new Simulation({ seed: options.seed ?? 1, ...limits });
  const subject = setup();
  const { startWith = startPipeline } = options;
  const left = [...crashes];
  const at: string[] = [];
  let steps: Steps | undefined;
  let run: PipelineRun | undefined;
  let error: string | undefined;
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let hasInput = false;
  const node: SimNode = simulation.addNode('pipeline', async (ports) => {
    if (!hasInput) {
      await writeInput(ports.files, subject.files ?? {});
      hasInput = true;
      steps = armed();
    } else await checkOutput(ports.files);
    // After a run that was asked to end, another one can start in the same process.
    while (await runIn(ports, steps as Steps)) {
      steps = armed();
      await checkOutput(ports.files);
    }
  });
  const checkOutput = async (files: Files) => {
    if (expected !== undefined) error ??= notPrefix(await outputOf(subject, files), expected);
  };
  /** Returns true if another run continues in this process. */
  const runIn = async (ports: SimPorts, current: Steps): Promise<boolean> => {
    run = undefined;
    try {
      const started = await startWith(
        subject.pipeline,
        { ...startOptions(options), signal: current.abortSignal },
        {
          ...ports,
          path: pathOf,
          openStorage: (path) => ports.openStorage(path),
          around: (name, call) => current.around(name, call),
        },
      );
      run = started;
      const stop = () => void started.stop().catch(() => undefined); // `finished` rejects with it too
      if (current.stopSignal.aborted) stop();
      else current.stopSignal.addEventListener('abort', stop);
      await started.finished;
      error ??= current.unreportedFailure;
      if (node.pendingTimersCount > 0) error ??= `${node.pendingTimersCount} timers are left`;
      if (current.isStopped && started.state !== 'finished') return true;
      error ??= await problemIn(startOptions(options).dir, ports);
    } catch (thrown) {
      const { code = 'error', message } = thrown as Error & { readonly code?: string };
      if (current.mayEndWith(code, run !== undefined)) {
        if (current.isStopped) return true;
        again();
        return false;
      }
      error ??= `${code}: ${message}`;
    }
    end();
    return false;
  };
  /** Ends the process if it is still alive, and starts another one. */
  const again = () => {
    simulation.clock.setTimer(5, () => {
      if (node.life?.isDead === false) node.kill();
      steps = armed();
      node.start();
    });
  };
  const armed = () =>
    new Steps(node, left.shift(), at.length, {
      ended(point) {
        at.push(point);
        again();
      },
      failed: (point) => at.push(point),
    });
  let output: Output = {};
  await simulation
    .run(async () => {
      node.start();
      await ended;
      // The ports of the ended process can still be used for reading.
      if (node.life !== undefined) output = await outputOf(subject, node.disk.openFiles(node.life));
    })
    .catch((thrown: unknown) => {
      const { state = 'not started', error: reason = null } = run?.progress() ?? {};
      const standing = `${state}${reason === null ? '' : `: ${reason}`}`;
      error ??= `the pipeline does not finish; its sources must end (${standing}; ${(thrown as Error).message})`;
    });
  if (expected !== undefined) error ??= notEqual(output, expected);
  const epoch = run?.progress().epoch ?? 0;
  const [first = 'no crash'] = at;
  return { kinds: steps?.kinds ?? [], epoch, output, error, crashed: at.length, at: first };
}

/** The first problem found in the checkpoint directory of a finished run. */
async function problemIn(dir: string, ports: SimPorts): Promise<string | undefined> {
  const { files, clock, logger, openStorage } = ports;
  const found = await inspectDirectory(
    dir,
    { verify: true },
    { files, clock, logger, openStorage: (path) => openStorage(path) },
  );
  return found.problems[0];
}

function startOptions({ start }: CrashTestOptions): StartOptions & { readonly dir: string } {
  return {
    ...start,
    dir: pathOf(start?.dir ?? 'state'),
    checkpoint: { everyMs: 60_000, everyRecords: 20, minPauseMs: 0, ...start?.checkpoint },
  };
}

/** The root of the simulated disk is also its working directory. */
const pathOf = (path: string) => path.replace(/^\.?\//, '');

async function writeInput(files: Files, input: Readonly<Record<string, string>>): Promise<void> {
  for (const [given, text] of Object.entries(input)) {
    const path = pathOf(given);
    const directory = path.split('/').slice(0, -1).join('/');
    if (directory !== '') await files.makeDir(directory);
    await files.append(path, Buffer.from(text));
    await files.sync(path);
    for (let place = directory; ; place = place.split('/').slice(0, -1).join('/')) {
      await files.syncDir(place);
      if (place === '') break;
    }
  }
}

function outputOf(subject: CrashSubject, files: Files): Promise<Output> {
  return subject.output === undefined ? partFiles(files, '') : subject.output(files);
}

/** The part files of each directory, concatenated. */
async function partFiles(files: Files, directory: string): Promise<Output> {
  const output: Record<string, string> = {};
  for (const name of await files.list(directory)) {
    const path = directory === '' ? name : `${directory}/${name}`;
    const stat = await files.stat(path);
    if (stat?.kind === 'directory' && name !== '.staging') {
      Object.assign(output, await partFiles(files, path));
    } else if (/^part-.*\.jsonl$/.test(name) && stat !== undefined) {
      const text = Buffer.from(await files.readAt(path, 0, stat.bytes)).toString('utf8');
      output[directory] = (output[directory] ?? '') + text;
    }
  }
  return output;
}

function notPrefix(output: Output, expected: Output): string | undefined {
  for (const [sink, text] of Object.entries(output)) {
    if (!(expected[sink] ?? '').startsWith(text)) {
      return `after the crash "${sink}" has output that a run without crashes never has: ${difference(text, expected[sink] ?? '')}`;
    }
  }
  return undefined;
}

function notEqual(output: Output, expected: Output): string | undefined {
  for (const sink of new Set([...Object.keys(output), ...Object.keys(expected)])) {
    const [found, wanted] = [output[sink] ?? '', expected[sink] ?? ''];
    if (found !== wanted) return `in the end "${sink}" differs: ${difference(found, wanted)}`;
  }
  return undefined;
}

function difference(found: string, wanted: string): string {
  let at = 0;
  while (at < found.length && found[at] === wanted[at]) at += 1;
  const show = (text: string) => JSON.stringify(text.slice(Math.max(0, at - 20), at + 40));
  return `byte ${at}: found ${show(found)}, expected ${show(wanted)}`;
}
