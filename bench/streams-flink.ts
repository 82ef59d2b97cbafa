// Streams compared with Apache Flink: the same file of JSON lines in, a running count per user, one line per event
// out to files, with exactly-once checkpoints each second and one core's worth of parallelism.
//
// Flink runs in its local mini cluster from Maven's jars, state on the heap, in a process that is used for all runs.
// Before the first run the outputs of both are compared, as sets of lines.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createSeededRandom } from '@syncline/kernel/testing';
import {
  aggregate,
  definePipeline,
  fileSink,
  jsonlSource,
  numberCodec,
  start,
} from '@syncline/streams';
import type { Contestant } from './bench.js';
import { defineBench } from './measure.js';

const LINES = 1_000_000;
const KEYS = 100_000;
/** Beside package.json, whether this is run from bench/ or bench/dist/. */
const ROOT = fileURLToPath(new URL('../', import.meta.url)).replace(/bench\/$/, '');
const PEER = join(ROOT, 'bench/peers/flink');
const BUILT = join(ROOT, '.cache/peers/flink');

interface Counter {
  /** Counts the lines of the input and returns the directory of the output. */
  count(input: string, work: string): Promise<string>;
}

interface Subject extends Counter {
  readonly work: string;
}

/** The hash of the sorted output, the same for every contestant. */
let expectedHash: string | undefined;

function contestant(
  name: string,
  version: string | undefined,
  open: () => Promise<Counter & AsyncDisposable>,
): Contestant<Subject> {
  return {
    name,
    ...(version !== undefined && { version }),
    async open() {
      const counter = await open();
      const work = await mkdtemp(join(tmpdir(), 'bench-flink-'));
      await writeLines(join(work, 'in.jsonl'));
      return {
        work,
        count: (input, place) => counter.count(input, place),
        async [Symbol.asyncDispose]() {
          await counter[Symbol.asyncDispose]();
          await rm(work, { recursive: true });
        },
      };
    },
  };
}

const ours = contestant('streams', undefined, async () => ({
  async count(input, work) {
    const pipeline = definePipeline('lines', (p) => {
      p.source(jsonlSource<{ readonly user: string }>({ uid: 'in', files: [input] }))
        .keyBy((event) => event.user)
        .process({
          uid: 'counts',
          state: { count: aggregate(numberCodec) },
          onItem(event: { readonly user: string }, context) {
            const count = context.state.count.update((before = 0) => before + 1);
            context.emit({ user: event.user, count });
          },
        })
        .to(fileSink({ uid: 'out', dir: join(work, 'out') }));
    });
    await using run = await start(pipeline, { dir: join(work, 'state') });
    await run.finished;
    return join(work, 'out');
  },
  async [Symbol.asyncDispose]() {},
}));

const flink = contestant('flink', '2.1.0', async () => {
  await build();
  const opens = ['java.base/java.util', 'java.base/java.lang'].flatMap((name) => [
    '--add-opens',
    `${name}=ALL-UNNAMED`,
  ]);
  const classes = [join(BUILT, 'classes'), join(BUILT, 'jars/*')].join(':');
  const java = spawn('java', ['-Xmx2g', ...opens, '-cp', classes, 'FlinkCount'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const lines = createInterface({ input: java.stdout })[Symbol.asyncIterator]();
  return {
    async count(input, work) {
      java.stdin.write(`${input} ${join(work, 'out')} ${join(work, 'checkpoints')}\n`);
      const said = (await lines.next()).value as unknown;
      if (said !== 'done')
        throw new Error('the Flink job failed; run FlinkCount by hand to see why');
      return join(work, 'out');
    },
    async [Symbol.asyncDispose]() {
      java.stdin.end();
      await once(java, 'exit');
    },
  };
});

/** Downloads the jars and compiles the job, once. */
async function build(): Promise<void> {
  await mkdir(join(BUILT, 'classes'), { recursive: true });
  const jars = join(BUILT, 'jars');
  const copy = ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${jars}`];
  runTool('mvn', ['-f', join(PEER, 'pom.xml'), ...copy]);
  const source = join(PEER, 'FlinkCount.java');
  runTool('javac', ['-cp', `${jars}/*`, '-d', join(BUILT, 'classes'), source]);
}

function runTool(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, [...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status === 0) return;
  throw new Error(
    `${command} failed (${error?.message ?? status}). The bench needs Maven and a JDK 17.`,
  );
}

async function writeLines(path: string): Promise<void> {
  const random = createSeededRandom('bench/streams-flink');
  const file = createWriteStream(path);
  for (let line = 0; line < LINES; line += 1) {
    const user = `user-${String(random.u32() % KEYS).padStart(6, '0')}`;
    const text = `{"user":"${user}","atMs":${1_700_000_000_000 + line}}\n`;
    if (!file.write(text)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
}

/** Flink puts part files into folders by the hour. */
async function hashOf(output: string): Promise<string> {
  const found = await readdir(output, { recursive: true });
  const parts = found.filter(
    (name) => /(^|\/)part-[^/]+$/.test(name) && !name.includes('.staging'),
  );
  const lines: string[] = [];
  for (const part of parts) {
    for await (const line of createInterface({ input: createReadStream(join(output, part)) })) {
      lines.push(line);
    }
  }
  const hash = createHash('sha256');
  for (const line of lines.sort()) hash.update(`${line}\n`);
  return hash.digest('hex');
}

async function countOnce({ count, work }: Subject, name: string): Promise<string> {
  const place = join(work, name);
  await mkdir(place);
  return await count(join(work, 'in.jsonl'), place);
}

export const streamsFlinkBench = defineBench<Subject>({
  name: 'streams-flink',
  unit: 'events/s',
  about:
    '1,000,000 JSON lines, a running count of 100,000 keys, one line out for each, exactly once',
  isLong: true,
  contestants: [ours, flink],
  async prepare(subject) {
    const hash = await hashOf(await countOnce(subject, 'compared'));
    expectedHash ??= hash;
    if (hash !== expectedHash) throw new Error('the outputs of the contestants differ');
  },
  async run(subject, round) {
    await countOnce(subject, `round-${round}`);
    return LINES;
  },
});
