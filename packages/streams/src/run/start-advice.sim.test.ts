// What a start tells its user: names that match nothing, input that is not read again, and a directory in use.
import type { LogFields } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test, vi } from 'vitest';
import { fileSink } from '../ends/file-sink.js';
import { jsonlSource } from '../ends/jsonl-source.js';
import { definePipeline } from '../pipeline/define.js';
import { type StartOptions, start } from './start.js';

type Warning = readonly [message: string, fields: LogFields | undefined];

const sums = (file = 'in.jsonl') =>
  definePipeline('sums', (p) => {
    p.source(jsonlSource<number>({ uid: 'in', files: [file], follow: file !== 'in.jsonl' }))
      .keyBy(() => 'all')
      .reduce({ uid: 'sum', initial: () => 0, add: (sum: number, n) => sum + n })
      .to(fileSink({ uid: 'out', dir: 'out' }));
  });

function prepare(world: SimulatedBody) {
  const { clock, random, files, openStorage } = world;
  const warnings: Warning[] = [];
  const logger = {
    ...world.logger,
    warn: (message: string, fields?: LogFields) => void warnings.push([message, fields]),
  };
  const deps = { clock, random, logger, files, path: (given: string) => given };
  const open = (at: string) => openStorage(at);
  return {
    warnings,
    begin: (options: StartOptions = {}, pipeline = sums()) =>
      start(pipeline, { dir: 'state', ...options }, { ...deps, openStorage: open }),
  };
}

const sim = (name: string, body: (world: SimulatedBody) => Promise<void>) =>
  test(name, () => runInSimulation(name, body));

sim('a pipeline that had finished says that its input is not read again', async (world) => {
  await world.files.append('in.jsonl', Buffer.from('1\n'));
  const { begin, warnings } = prepare(world);
  await (await begin()).finished;
  expect(warnings).toEqual([]);
  await (await begin()).finished;
  expect(warnings).toEqual([
    [
      'the pipeline had already finished; its input is not read again. Use follow: true for files that grow, or a new directory to start over',
      { pipeline: 'sums', epoch: 1 },
    ],
  ]);
});

sim('without a logger, such advice becomes a process warning', async (world) => {
  await world.files.append('in.jsonl', Buffer.from('1\n'));
  const emitWarning = vi.spyOn(globalThis.process, 'emitWarning').mockImplementation(() => {});
  const { logger: _, ...ports } = world;
  const deps = { ...ports, path: (given: string) => given };
  const openStorage = (at: string) => world.openStorage(at);
  const begin = () => start(sums(), { dir: 'state' }, { ...deps, openStorage });
  await (await begin()).finished;
  expect(emitWarning).not.toHaveBeenCalled();
  await (await begin()).finished;
  expect(emitWarning.mock.calls).toEqual([
    [
      expect.stringMatching(
        /^@syncline\/streams: the pipeline had already finished; .* \(pipeline: sums, epoch: 1\)$/,
      ),
    ],
  ]);
  emitWarning.mockRestore();
});

sim('acceptLoss refuses a name that no partition has', async (world) => {
  await world.files.append('in.jsonl', Buffer.from('1\n'));
  const { begin } = prepare(world);
  for (const name of ['typo', 'in/in.jsonl']) {
    await expect(begin({ acceptLoss: [name] })).rejects.toMatchObject({
      code: 'invalid-argument',
      message: `acceptLoss names "${name}", but the sources have partitions: in.jsonl`,
    });
  }
  await (await begin({ acceptLoss: ['in.jsonl'] })).finished;
});

sim('dropState warns of a name without state, and refuses an operator in use', async (world) => {
  await world.files.append('in.jsonl', Buffer.from('1\n'));
  const { begin, warnings } = prepare(world);
  await expect(begin({ dropState: ['sum'] })).rejects.toMatchObject({
    code: 'invalid-argument',
    message: 'dropState names "sum", which the pipeline still has',
  });
  await (await begin({ dropState: ['typo'] })).finished;
  expect(warnings).toEqual([
    ['dropState names an operator that has no state in this directory', { uid: 'typo' }],
  ]);
});

sim('a directory in use is named as the user passed it', async (world) => {
  const { begin } = prepare(world);
  const run = await begin({}, sums('growing.jsonl'));
  await expect(begin({}, sums('growing.jsonl'))).rejects.toMatchObject({
    code: 'locked',
    message: 'state is in use by another process. Stop that process first.',
  });
  await run.stop();
});

sim('a line that is not valid JSON is named by its place in the file', async (world) => {
  await world.files.append('in.jsonl', Buffer.from('1\n2\n\nthree\n'));
  const run = await prepare(world).begin();
  await expect(run.finished).rejects.toMatchObject({
    code: 'bad-record',
    message: expect.stringMatching(
      /^the line at byte 5 of partition "in\.jsonl" of source "in" is bad: .* is not valid JSON\. Repair it/,
    ),
    details: { position: 2 },
  });
});
