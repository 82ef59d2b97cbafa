import { AssertionError, assert, createSystemClock } from '@syncline/kernel';
import { runInSimulation, type SimPorts } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { fileSink } from '../ends/file-sink.js';
import { memorySource } from '../ends/memory-source.js';
import { definePipeline } from '../pipeline/define.js';
import { numberCodec } from '../state/codec.js';
import { aggregate } from '../state/state-backend.js';
import { inspectDirectory } from '../store/inspect.js';
import { type PipelineProgress, progressOf, terminalProgress } from './progress.js';
import { isOver, nextState, RUN_TABLE, type RunState } from './run-state.js';
import { type StartOptions, start } from './start.js';

interface Click {
  readonly user: string;
}

const clicks = (count: number): readonly Click[] =>
  Array.from({ length: count }, (_, index) => ({ user: `u${index % 7}` }));

function counting(records: Readonly<Record<string, readonly Click[]>>) {
  return definePipeline('clicks', (p) => {
    p.source(memorySource({ uid: 'in', partitions: records, batchItems: 10 }))
      .keyBy((click) => click.user)
      .process({
        uid: 'totals',
        state: { total: aggregate(numberCodec) },
        onItem(click: Click, ctx) {
          ctx.emit({ user: click.user, clicks: ctx.state.total.update((n = 0) => n + 1) });
        },
      })
      .to(fileSink({ uid: 'out', dir: 'out' }));
  });
}

async function startSim(
  pipeline: ReturnType<typeof counting>,
  ports: SimPorts,
  options: StartOptions = {},
) {
  return await start(
    pipeline,
    { dir: 'state', ...options },
    { ...ports, path: (path) => path, openStorage: (path) => ports.openStorage(path) },
  );
}

async function outputOf({ files }: Pick<SimPorts, 'files'>): Promise<string> {
  let text = '';
  for (const name of await files.list('out')) {
    if (!name.startsWith('part-')) continue;
    text += Buffer.from(await files.readAt(`out/${name}`, 0, 1e9)).toString();
  }
  return text;
}

test('a finite pipeline reads everything, commits it and finishes', async () => {
  await runInSimulation(1, async (ports) => {
    const run = await startSim(counting({ a: clicks(95), b: clicks(20) }), ports);
    await run.finished;
    expect(run.state).toBe('finished');
    const lines = (await outputOf(ports))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toHaveLength(115);
    const sum = new Map<string, number>();
    for (const { user, clicks: n } of lines) sum.set(user, Math.max(sum.get(user) ?? 0, n));
    expect([...sum.values()].reduce((a, b) => a + b, 0)).toBe(115);
    const again = await startSim(counting({ a: clicks(95), b: clicks(20) }), ports);
    await again.finished;
    expect(again.state).toBe('finished');
  });
});

test('a failed assert ends the readers of checkpoints and frees the directory', async () => {
  await runInSimulation(1, async (ports) => {
    const broken = definePipeline('broken', (p) => {
      p.source(memorySource({ uid: 'in', partitions: { a: [1] }, batchItems: 1 }))
        .keyBy((n) => n)
        .process({
          uid: 'broken',
          onItem() {
            assert(false, 'a mistake of our own');
          },
        })
        .to(fileSink({ uid: 'out', dir: 'out' }));
    });
    for (let round = 0; round < 2; round += 1) {
      const run = await startSim(broken, ports);
      const reading = (async () => {
        for await (const { epoch } of run.checkpoints()) expect(epoch).toBe('never');
      })();
      await expect(reading).rejects.toThrow(AssertionError);
      await expect(run.finished).rejects.toThrow('a mistake of our own');
      expect(run.state).toBe('failed');
    }
  });
});

test('without a directory a pipeline runs in memory', async () => {
  const clock = createSystemClock();
  const seen: unknown[] = [];
  const pipeline = definePipeline('p', (p) => {
    p.source(memorySource({ uid: 'in', partitions: { a: [1, 2, 3] } }))
      .map((n) => n * 2)
      .filter((n) => n !== 4)
      .to({
        kind: 'outbox',
        uid: 'out',
        contract: 'dedup-at-consumer',
        mark: async () => null,
        async deliver(part) {
          seen.push(...part.rows.map(({ value }) => value));
          return 'committed';
        },
      });
  });
  const run = await start(pipeline, {}, { clock });
  await run.finished;
  expect(seen).toEqual([2, 6]);
});

test('X42 a run that has ended stays ended, and every state can fail or be stopped', () => {
  for (const state of Object.keys(RUN_TABLE) as RunState[]) {
    const { stop, failed } = RUN_TABLE[state];
    expect(stop).not.toBe('never');
    if (!isOver(state)) expect(failed).toBe('failed');
    for (const next of Object.values(RUN_TABLE[state])) {
      if (isOver(state)) expect(['never', state]).toContain(next);
    }
  }
  expect(() => nextState('stopped', 'recovered')).toThrow(/has no event/);
});

test('progress on a terminal is one line that replaces itself, and elsewhere prints nothing', async () => {
  const writtenTo = async (isTTY: boolean) => {
    const written: string[] = [];
    const output = { isTTY, columns: 60, write: (text: string) => void written.push(text) };
    await runInSimulation(1, async (ports) => {
      const progress = terminalProgress(output);
      const run = await startSim(counting({ a: clicks(9_500) }), ports, { progress });
      await run.finished;
    });
    return written;
  };
  const lines = await writtenTo(true);
  expect(lines[0]).toBe('\r\u001b[Kclicks: recovering, 0 records, 0 records/s, checkpoint 0');
  expect(lines.at(-1)).toMatch(/clicks: finished, 9,500 records, checkpoint 1 \(\d+ ms\)\n$/);
  for (const line of lines) expect(line.trim().length).toBeLessThan(60 + '\u001b[K'.length);
  expect(await writtenTo(false)).toEqual([]);
});

test('a failed run says why, in its progress, on the terminal and in STATUS.json', async () => {
  await runInSimulation(1, async (ports) => {
    const broken = definePipeline('clicks', (p) => {
      p.source(memorySource({ uid: 'in', partitions: { a: [1, 2] } }))
        .map((n) => {
          if (n === 2) throw new Error('cannot divide');
          return n;
        })
        .to(fileSink({ uid: 'out', dir: 'out' }));
    });
    const written: string[] = [];
    const terminal = terminalProgress({ isTTY: true, columns: 200, write: (t) => written.push(t) });
    const run = await startSim(broken, ports, { progress: terminal });
    await expect(run.finished).rejects.toThrow(/cannot divide/);
    const failed = { state: 'failed', error: expect.stringContaining('cannot divide') };
    expect(run.progress()).toMatchObject(failed);
    expect(written.at(-1)).toMatch(/clicks: failed, .*cannot divide.*\n$/);
    const found = await inspectDirectory('state', {}, ports);
    expect(found).toMatchObject({ state: 'failed', epoch: 0, generation: 1, status: failed });
  });
});

test('the progress of a restarted run begins at its checkpoint, without a rate', async () => {
  const atMs = [0, 10, 20];
  const written: string[] = [];
  const output = { isTTY: true, columns: 200, write: (text: string) => written.push(text) };
  const terminal = terminalProgress(output, { monotonicMs: () => atMs.shift() ?? 0 });
  const nothing = { lastCheckpointMs: null, checkpointBytes: null, error: null };
  const progress = (generation: number, recordsIn: number): PipelineProgress => ({
    ...progressOf('clicks', undefined, 0, { ...nothing, state: 'running' }),
    generation,
    recordsIn,
  });
  terminal.report(progress(0, 0)); // before recovery
  terminal.report(progress(2, 1_000_000));
  terminal.report(progress(2, 1_000_050));
  expect(written[1]).toContain('1,000,000 records, 0 records/s');
  expect(written[2]).toContain('1,000,050 records, 5,000 records/s');
});

test('options that cannot work are refused before anything is opened', async () => {
  const wrong: readonly (readonly [object, string])[] = [
    [{ checkpoint: { everyMs: 49 } }, 'checkpoint.everyMs is 49; expected a number of at least 50'],
    [
      { checkpoint: { everyRecords: 0 } },
      'checkpoint.everyRecords is 0; expected a number of at least 1',
    ],
    [{ checkpoint: { timeoutMs: Number.NaN } }, 'checkpoint.timeoutMs is NaN'],
    [{ keyGroups: -1 }, 'keyGroups is -1; expected a number of at least 1'],
    [
      { state: 'embedded', cacheBytesMax: -1 },
      'cacheBytesMax is -1; expected a number of at least 0',
    ],
    [{ stopGraceMs: '1' }, 'stopGraceMs is "1"; expected'],
    [{ state: 'disk' }, 'state is "disk"; expected one of memory, embedded'],
    [{ order: 'any' }, 'order is "any"; expected one of strict, ready'],
    [{ dir: '' }, 'dir is empty'],
    [{ checkpoint: 1_000 }, 'checkpoint is 1000; expected an object'],
    [{ chekpoint: {} }, 'unknown option "chekpoint" of start. Did you mean "checkpoint"?'],
    [
      { checkpoint: { every: 1 } },
      'unknown option "every" of checkpoint. Expected one of: everyMs',
    ],
  ];
  await runInSimulation(1, async (ports) => {
    for (const [options, message] of wrong) {
      const refused = startSim(counting({ a: clicks(1) }), ports, options);
      await expect(refused).rejects.toThrow(message);
    }
    const misplaced = { ...ports, progress: { report() {} } };
    await expect(start(counting({}), {}, misplaced)).rejects.toThrow(
      'progress is an option: pass it in the second argument of start',
    );
    expect(await ports.files.list('')).toEqual([]);
  });
});
