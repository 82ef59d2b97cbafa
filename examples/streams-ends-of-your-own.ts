// A source and a sink of your own: files of one record each are read in the order of their names, and the output goes
// into one JSON file. `streams-ends-of-your-own.int.test.ts` runs them through the suites that our own ends pass.
//
//   npm run example -- streams-ends-of-your-own
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SynclineError } from '@syncline/kernel';
import type { EndPorts, Fence, Json, Sink, SinkMark, Source } from '@syncline/streams';
import * as streams from '@syncline/streams';

/** New files must have higher names. A position is the name of the last file that was read. */
export function spoolSource(uid: string, dir: string): Source<Json, string> {
  let ports: EndPorts;
  const check = async (_: string, position: string) => {
    if (position === '' || (await ports.files.stat(`${ports.path(dir)}/${position}`))) return;
    throw new SynclineError('position-lost', `${position} is no longer in ${dir}`);
  };
  return {
    uid,
    isFinite: true, // one that waits for more files would yield `idle` instead of `end`
    attach(given) {
      ports = given;
    },
    partitions: async () => [dir],
    check,
    async *read(partition, from) {
      let position = from ?? '';
      await check(partition, position);
      const all = await ports.files.list(ports.path(dir)); // sorted
      for (position of all.filter((name) => name > (from ?? ''))) {
        const raw = await ports.files.readAt(`${ports.path(dir)}/${position}`, 0, 1024 * 1024);
        yield { ...decode(raw), position };
      }
      yield { items: [], position, end: true };
    },
  };
}

function decode(raw: Uint8Array) {
  try {
    return { items: [JSON.parse(Buffer.from(raw).toString()) as Json] };
  } catch (error) {
    return { items: [], bad: [{ at: 0, raw, reason: (error as Error).message }] };
  }
}

/** One epoch. It is also the handle: the checkpoint keeps the rows, so that nothing has to be staged elsewhere. */
type Output = { readonly epoch: number; readonly rows: Json[] };
/** The file. It is replaced as a whole, even if a crash intervenes, so the mark always fits the rows. */
type Table = { readonly mark: SinkMark; readonly token: string; readonly rows: readonly Json[] };

/** For one worker: several would each commit a part of an epoch. */
export function tableSink(uid: string, file: string): Sink<Json, Output> {
  let ports: EndPorts;
  let fence: Fence;
  const read = async () => {
    const [files, place] = [ports.files, ports.path(file)];
    const stat = await files.stat(place);
    if (stat === undefined) return null;
    return JSON.parse(Buffer.from(await files.readAt(place, 0, stat.bytes)).toString()) as Table;
  };
  /** Refuses other pipelines, older writers, and copies of the directory. */
  const owned = async (): Promise<Table> => {
    const { pipeline, generation, token } = fence;
    const table = (await read()) ?? { mark: { pipeline, generation, epoch: 0 }, token, rows: [] };
    const { mark } = table;
    if (mark.pipeline !== pipeline) throw new SynclineError('conflict', `${file} is in use`);
    if (mark.generation > generation || (mark.generation === generation && table.token !== token))
      throw new SynclineError('fenced', `${file} was taken over by another process`);
    return { ...table, mark: { ...mark, generation }, token };
  };
  const replace = async (table: Table) => {
    const [files, place] = [ports.files, ports.path(file)];
    if (await files.stat(`${place}.tmp`)) await files.remove(`${place}.tmp`);
    await files.append(`${place}.tmp`, Buffer.from(JSON.stringify(table)));
    await files.sync(`${place}.tmp`);
    await files.rename(`${place}.tmp`, place);
    await files.syncDir(place.split('/').slice(0, -1).join('/'));
  };
  const commit = async (handle: Json) => {
    const { epoch, rows } = handle as Output;
    const { mark, token, rows: before } = await owned();
    if (mark.epoch >= epoch) return 'already';
    await replace({ mark: { ...mark, epoch }, token, rows: [...before, ...rows] });
    return 'committed';
  };
  return {
    uid,
    contract: 'transactional',
    attach(given) {
      ports = given;
    },
    mark: async () => (await read())?.mark ?? null,
    async recover(owed, given) {
      fence = given;
      await replace(await owned());
      for (const handle of owed) await commit(handle);
    },
    begin: async (epoch) => ({ epoch, rows: [] }),
    write: async ({ rows }, outputs) => void rows.push(...outputs.map(({ value }) => value)),
    prepare: async (output) => output,
    commit,
    abort: async () => {},
  };
}

if (import.meta.filename === process.argv[1]) {
  const work = await mkdtemp(join(tmpdir(), 'ends-of-your-own-'));
  await mkdir(join(work, 'in'));
  for (const n of [1, 2, 3]) await writeFile(join(work, 'in', `${n}.json`), `${n}`);
  const pipeline = streams.definePipeline('copy', (p) =>
    p.source(spoolSource('in', join(work, 'in'))).to(tableSink('out', join(work, 'out.json'))),
  );
  await (await streams.start(pipeline)).finished;
  const table = JSON.parse(await readFile(join(work, 'out.json'), 'utf8')) as Table;
  console.log(table.rows); // [ 1, 2, 3 ]
  await rm(work, { recursive: true });
}
