// A pipeline is killed and restarted, and its output is byte for byte that of an uninterrupted run.
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  aggregate,
  definePipeline,
  fileSink,
  jsonlSource,
  numberCodec,
  serverProgress,
  start,
} from '@syncline/streams';
import { type Act, pause, type Stage } from './demo-stage.js';

const PIPELINE = 'demo-orders';
const CUSTOMERS = 500;
const KILLS = 3;
/** A fast machine needs a few milliseconds between two of them, and must not be done before it is killed. */
const CHECKPOINTS = 10;
/** The kill comes this long after a checkpoint, at most. */
const KILL_DELAY_MS = 10;

interface Order {
  readonly customer: string;
  readonly cents: number;
}

interface WorkerOptions {
  readonly work: string;
  readonly name: string;
  readonly everyRecords: number;
  /** The node that shows the pipeline. */
  readonly url: string;
}

export const streamsAct: Act = {
  name: 'streams',
  title: 'a pipeline is killed and restarted',
  async play(stage) {
    const { isFast, signal } = stage;
    const work = join(stage.directory, 'streams');
    const orders = isFast ? 200_000 : 600_000;
    const everyRecords = orders / CHECKPOINTS;
    await writeOrders(work, orders);
    await stage.narrate(
      `A pipeline sums ${orders.toLocaleString('en-US')} orders from ${CUSTOMERS} customers and writes the sums to files, with a checkpoint every ${everyRecords.toLocaleString('en-US')} orders.`,
      '/streams',
    );
    const run = (name: string, killsMax: number) =>
      runPipeline(stage, { work, name, everyRecords }, killsMax);
    await run('calm', 0);
    await stage.narrate(
      'One run was not interrupted. The next one is killed with SIGKILL, again and again.',
    );
    const kills = await run('killed', KILLS);
    signal.throwIfAborted();
    const [calm, killed] = [await outputOf(work, 'calm'), await outputOf(work, 'killed')];
    const lines = killed.split('\n').length - 1;
    const hash = createHash('sha256').update(killed).digest('hex').slice(0, 12);
    stage.check(
      calm === killed && lines === orders && kills > 0,
      `killed ${kills === 1 ? 'once' : `${kills} times`}, and the ${lines.toLocaleString('en-US')} lines of output are identical to those of an uninterrupted run`,
      { kills, lines, sha256: hash },
    );
  },
};

/** Runs the pipeline in a separate process, which is killed up to `killsMax` times. Returns how often it was killed. */
async function runPipeline(
  stage: Stage,
  options: Omit<WorkerOptions, 'url'>,
  killsMax: number,
): Promise<number> {
  const { cluster, signal } = stage;
  for (let kills = 0; ; kills += 1) {
    const child = startWorker({ ...options, url: cluster.url(1, '/') });
    const endChild = (): void => void child.kill('SIGKILL');
    signal.addEventListener('abort', endChild, { once: true });
    const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
    try {
      if (kills < killsMax) {
        await Promise.race([once(child, 'message'), ended]); // a checkpoint was committed
        await Promise.race([pause(KILL_DELAY_MS * Math.random(), signal), ended]);
        child.kill('SIGKILL');
      }
      const [code, ending] = await ended;
      signal.throwIfAborted();
      if (code === 0) return kills;
      if (ending !== 'SIGKILL') throw new Error(`the pipeline ended with ${code ?? ending}`);
      await stage.narrate(`Killed (${kills + 1}). A new process resumes from the last checkpoint.`);
    } finally {
      signal.removeEventListener('abort', endChild);
      endChild();
    }
  }
}

function startWorker(options: WorkerOptions): ChildProcess {
  const program = `import(${JSON.stringify(import.meta.url)}).then(({ runPipelineWorker }) => runPipelineWorker(JSON.parse(process.argv[1])))`;
  return spawn(process.execPath, ['--eval', program, JSON.stringify(options)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
}

/** Runs in the separate process: the whole pipeline, from its last checkpoint on. */
export async function runPipelineWorker({
  work,
  name,
  everyRecords,
  url,
}: WorkerOptions): Promise<void> {
  process.once('disconnect', () => process.exit(1)); // the demo is gone
  {
    await using run = await start(ordersPipeline(work, name), {
      dir: join(work, `${name}-state`),
      checkpoint: { everyRecords, minPauseMs: 0 },
      progress: serverProgress({ url }),
    });
    for await (const { epoch } of run.checkpoints()) process.send?.(epoch);
    await run.finished;
  }
  process.exit(0); // the open IPC channel would keep the process alive
}

function ordersPipeline(work: string, name: string) {
  return definePipeline(PIPELINE, (p) => {
    const files = [join(work, 'orders.jsonl')];
    p.source(jsonlSource<Order>({ uid: 'orders', files }))
      .keyBy(({ customer }) => customer)
      .process({
        uid: 'totals',
        state: { total: aggregate(numberCodec) },
        onItem(order: Order, context) {
          const total = context.state.total.update((cents = 0) => cents + order.cents);
          context.emit({ customer: order.customer, total });
        },
      })
      .to(fileSink({ uid: 'out', dir: join(work, name) }));
  });
}

async function writeOrders(work: string, orders: number): Promise<void> {
  await mkdir(work, { recursive: true });
  const lines = Array.from({ length: orders }, () => {
    const customer = `customer-${Math.floor(Math.random() * CUSTOMERS)}`;
    return `${JSON.stringify({ customer, cents: Math.floor(Math.random() * 10_000) })}\n`;
  });
  await writeFile(join(work, 'orders.jsonl'), lines.join(''));
}

async function outputOf(work: string, name: string): Promise<string> {
  const names = (await readdir(join(work, name))).filter((each) => each.startsWith('part-')).sort();
  const texts = await Promise.all(names.map((each) => readFile(join(work, name, each), 'utf8')));
  return texts.join('');
}
