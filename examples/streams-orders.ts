// Running totals per customer, from a file of orders to part files, in a process that is killed again and again. The
// output is then compared, byte by byte, with that of an undisturbed run.
//
//   npm run example -- streams-orders
import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  aggregate,
  definePipeline,
  fileSink,
  jsonlSource,
  numberCodec,
  start,
} from '@syncline/streams';

const ORDERS = 400_000;
const CUSTOMERS = 500;
const KILLS_MAX = 4;

interface Order {
  readonly customer: string;
  readonly cents: number;
}

/** The whole pipeline. `work` contains the orders, the output and the checkpoints. */
function totalsOf(work: string, name: string) {
  return definePipeline('order-totals', (p) => {
    p.source(jsonlSource<Order>({ uid: 'orders', files: [join(work, 'orders.jsonl')] }))
      .keyBy((order) => order.customer)
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

async function runPipeline(work: string, name: string): Promise<void> {
  await using run = await start(totalsOf(work, name), {
    dir: join(work, `${name}-state`),
    checkpoint: { everyMs: 50 },
  });
  for await (const { epoch } of run.checkpoints()) process.send?.(epoch);
  await run.finished;
}

/** Runs the pipeline in a separate process, which is killed up to `killsMax` times before it may finish. */
async function runInProcess(work: string, name: string, killsMax: number): Promise<number> {
  for (let kills = 0; ; ) {
    const child = fork(fileURLToPath(import.meta.url), [work, name]);
    const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
    if (kills < killsMax) {
      await Promise.race([once(child, 'message'), ended]); // a checkpoint was committed
      await Promise.race([sleep(Math.random() * 50), ended]);
      child.kill('SIGKILL');
    }
    const [code, signal] = await ended;
    if (code === 0) return kills;
    if (signal !== 'SIGKILL') throw new Error(`the pipeline ended with ${code ?? signal}`);
    kills += 1;
    const parts = (await partsOf(work, name).catch(() => [])).length;
    process.stdout.write(`kill -9 ${child.pid}; part files committed so far: ${parts}\n`);
  }
}

async function partsOf(work: string, name: string): Promise<readonly string[]> {
  const names = await readdir(join(work, name));
  return names.filter((each) => each.startsWith('part-')).sort();
}

async function outputOf(work: string, name: string): Promise<string> {
  const parts = await partsOf(work, name);
  const texts = await Promise.all(parts.map((part) => readFile(join(work, name, part), 'utf8')));
  return texts.join('');
}

async function writeOrders(work: string): Promise<void> {
  let text = '';
  for (let order = 0; order < ORDERS; order += 1) {
    const customer = `customer-${Math.floor(Math.random() * CUSTOMERS)}`;
    text += `${JSON.stringify({ customer, cents: Math.floor(Math.random() * 10_000) })}\n`;
  }
  await writeFile(join(work, 'orders.jsonl'), text);
}

async function compareRuns(): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'syncline-orders-'));
  try {
    await writeOrders(work);
    process.stdout.write(`${ORDERS} orders of ${CUSTOMERS} customers\n`);
    await runInProcess(work, 'calm', 0);
    const kills = await runInProcess(work, 'killed', KILLS_MAX);
    const [calm, killed] = [await outputOf(work, 'calm'), await outputOf(work, 'killed')];
    const lines = killed.split('\n').length - 1;
    const hash = createHash('sha256').update(killed).digest('hex').slice(0, 16);
    process.stdout.write(`killed ${kills} times: ${lines} lines of output, sha256 ${hash}…\n`);
    if (calm !== killed) throw new Error('the output differs from that of the undisturbed run');
    process.stdout.write('identical to the output of the run that was not killed\n');
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

const [, , work, name] = process.argv;
await (work === undefined || name === undefined ? compareRuns() : runPipeline(work, name));
