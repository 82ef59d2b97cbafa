// Runs a pipeline in a simulated world and ends its process at every step: each write, sync, rename and
// removal of the disk, and each call of a sink, before it happens and after it happened, by a kill and by a
// loss of power. After each crash the pipeline is started again, and what
// its sinks show must be a prefix of what a run without crashes shows, and all of it in the end.
//
// The pipeline must be deterministic: finite sources, strict order, no clock timers, no randomness.
import type { Files } from '@syncline/kernel';
import {
  createSeededRandom,
  type DiskOperation,
  SeededDiskPlan,
  type SimNode,
  Simulation,
  type Verdict,
} from '@syncline/kernel/testing';
import type { Pipeline } from '../pipeline/define.js';
import { type StartOptions, start as startPipeline } from '../run/start.js';

/** Made again for each crash, so that nothing survives but what the world keeps. */
export interface CrashSubject {
  readonly pipeline: Pipeline;
  /** Input, by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** What readers of the sinks see, by sink. Default: part files, by directory. */
  output?(files: Files): Promise<Readonly<Record<string, string>>>;
}

export interface CrashTestOptions {
  /** Most crashes to try; they are spread evenly over all there are. Default: all single ones. */
  readonly statesMax?: number;
  /** Runs that crash again and again, during recovery and after it. Default 0. */
  readonly chains?: number;
  /** Crashes of such a run. Default 4. */
  readonly chainCrashes?: number;
  readonly seed?: number;
  /** Stops once this many crashes went wrong. Default 20. */
  readonly failuresMax?: number;
  /** Default: a checkpoint every 20 records. */
  readonly start?: StartOptions;
  /** The `start` to test, if not this package's. */
  readonly startWith?: typeof startPipeline;
}

export interface CrashReport {
  /** Steps of a run without crashes, by kind. */
  readonly boundaries: Readonly<Record<string, number>>;
  /** Crashes that were tried. */
  readonly states: number;
  /** What went wrong; empty if all is well. */
  readonly failures: readonly string[];
}

interface CrashPoint {
  /** Number of the step, from 1. */
  readonly step: number;
  readonly moment: 'before' | 'after';
  readonly kind: 'kill' | 'losePower';
  /** Decides what a loss of power leaves. */
  readonly seed: number;
}

type Output = Readonly<Record<string, string>>;

const READS: ReadonlySet<string> = new Set(['read', 'open', 'find-room', 'reopen']);

export async function crashTest(
  setup: () => CrashSubject,
  options: CrashTestOptions = {},
): Promise<CrashReport> {
  const { seed = 1, chains = 0, chainCrashes = 4, failuresMax = 20 } = options;
  const reference = await runOnce(setup, options, []);
  if (reference.error !== undefined) {
    throw new Error(`the pipeline fails without any crash: ${reference.error}`);
  }
  const steps = reference.kinds.length;
  const points: CrashPoint[] = [];
  for (let step = 1; step <= steps; step += 1) {
    for (const moment of ['before', 'after'] as const) {
      points.push({ step, moment, kind: 'kill', seed });
      for (let loss = 0; loss < 2; loss += 1) {
        points.push({ step, moment, kind: 'losePower', seed: seed + 10 * step + loss });
      }
    }
  }
  const statesMax = Math.min(options.statesMax ?? points.length, points.length);
  const chosen = Array.from(
    { length: statesMax },
    (_, index) => points[Math.floor((index * points.length) / statesMax)] as CrashPoint,
  );
  const runs: (readonly CrashPoint[])[] = chosen.map((point) => [point]);
  const random = createSeededRandom(`crash-test/${seed}`);
  const pick = () => points[Math.floor(random.float() * points.length)] as CrashPoint;
  for (let count = 0; count < chains; count += 1) {
    // Most steps of a restart are those of its recovery, which come first.
    const again = () => ({ ...pick(), step: 1 + Math.floor(random.float() ** 2 * steps) });
    runs.push([pick(), ...Array.from({ length: chainCrashes - 1 }, again)]);
  }
  const failures: string[] = [];
  let states = 0;
  for (const crashes of runs) {
    const outcome = await runOnce(setup, options, crashes, reference.output);
    states += outcome.crashed;
    if (outcome.error !== undefined) {
      const where = crashes.map(({ step, moment, kind }) => `${kind} ${moment} step ${step}`);
      failures.push(`${where.join(', then ')} (${outcome.at}): ${outcome.error}`);
      if (failures.length >= failuresMax) break;
    }
  }
  const boundaries: Record<string, number> = {};
  for (const kind of reference.kinds) boundaries[kind] = (boundaries[kind] ?? 0) + 1;
  return { boundaries, states, failures };
}

interface Outcome {
  readonly kinds: readonly string[];
  readonly output: Output;
  readonly error: string | undefined;
  /** Crashes that happened. */
  readonly crashed: number;
  /** The step at which the first one did. */
  readonly at: string;
}

/** One pipeline from its first start to its end, with these crashes on the way. */
async function runOnce(
  setup: () => CrashSubject,
  options: CrashTestOptions,
  crashes: readonly CrashPoint[],
  expected?: Output,
): Promise<Outcome> {
  const simulation = new Simulation({ seed: options.seed ?? 1, eventsMax: 400_000 });
  const subject = setup();
  const { startWith = startPipeline } = options;
  const left = [...crashes];
  const at: string[] = [];
  let steps: Steps | undefined;
  let error: string | undefined;
  let ended = false;
  let hasInput = false;
  const node: SimNode = simulation.addNode('pipeline', async (ports) => {
    if (!hasInput) {
      await writeInput(ports.files, subject.files ?? {});
      hasInput = true;
      steps = armed();
    } else if (expected !== undefined) {
      error ??= notPrefix(await outputOf(subject, ports.files), expected);
    }
    try {
      const run = await startWith(subject.pipeline, startOptions(options), {
        ...ports,
        path: (path) => path.replace(/^\.?\//, ''),
        openStorage: (path) => ports.openStorage(path),
        around: (name, call) => (steps as Steps).around(name, call),
      });
      await run.finished;
    } catch (thrown) {
      error ??= `${(thrown as { code?: string }).code ?? 'error'}: ${(thrown as Error).message}`;
    }
    ended = true;
  });
  const armed = () => {
    const next = left.shift();
    return new Steps(node, next, (kind) => {
      at.push(kind);
      simulation.clock.setTimer(5, () => {
        steps = armed();
        node.start();
      });
    });
  };
  let output: Output = {};
  await simulation
    .run(async () => {
      node.start();
      while (!ended) await simulation.clock.sleep(20);
      const files = node.disk.openFiles(readerLife(node));
      output = await outputOf(subject, files);
    })
    .catch((thrown: unknown) => {
      error ??= (thrown as Error).message;
    });
  if (expected !== undefined) error ??= notEqual(output, expected);
  return { kinds: steps?.kinds ?? [], output, error, crashed: at.length, at: at[0] ?? 'no crash' };
}

/** The process that ended is still the one that reads: its ports stay usable. */
function readerLife(node: SimNode) {
  const { life } = node;
  if (life === undefined) throw new Error('the process of the pipeline is gone');
  return life;
}

function startOptions({ start }: CrashTestOptions): StartOptions {
  return {
    dir: 'state',
    ...start,
    checkpoint: { everyMs: 60_000, everyRecords: 20, minPauseMs: 0, ...start?.checkpoint },
  };
}

/** Counts the steps of one process and ends it at one of them. */
class Steps extends SeededDiskPlan {
  readonly kinds: string[] = [];
  readonly #node: SimNode;
  readonly #point: CrashPoint | undefined;
  readonly #crashed: (kind: string) => void;
  #isOver = false;

  constructor(node: SimNode, point: CrashPoint | undefined, crashed: (kind: string) => void) {
    super(createSeededRandom(point?.seed ?? 0));
    this.#node = node;
    this.#point = point;
    this.#crashed = crashed;
    node.disk.plan = this;
  }

  override verdict(operation: DiskOperation): Verdict {
    if (!READS.has(operation.kind)) this.#step('before', operation.kind);
    return 'ok';
  }

  override done(operation: DiskOperation): void {
    if (!READS.has(operation.kind)) this.#crashAt('after', operation.kind);
  }

  /** A call of a sink or source: a step before it and a step after it. */
  async around<T>(name: string, call: () => Promise<T>): Promise<T> {
    const { life } = this.#node;
    this.#step('before', name);
    if (life?.isDead !== false) return await never();
    const result = await call();
    if (life.isDead) return await never();
    this.#crashAt('after', name);
    return life.isDead ? await never() : result;
  }

  #step(moment: 'before', kind: string): void {
    if (this.#isOver) return;
    this.kinds.push(kind);
    this.#crashAt(moment, kind);
  }

  #crashAt(moment: 'before' | 'after', kind: string): void {
    const point = this.#point;
    if (this.#isOver || point?.step !== this.kinds.length || point.moment !== moment) return;
    this.#isOver = true;
    this.#node[point.kind]();
    this.#crashed(`${moment} ${kind}`);
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}

async function writeInput(files: Files, input: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(input)) {
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

/** The part files of each directory, one behind the other. */
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
      return `after the crash "${sink}" shows what a run without crashes never shows: ${difference(text, expected[sink] ?? '')}`;
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
