// `syncline streams`: pipelines and their checkpoint directories, looked at from outside.
import { resolve } from 'node:path';
import {
  createSystemClock,
  createSystemFiles,
  SynclineError,
  silentLogger,
} from '@syncline/kernel';
import { findPipelines, type Inspection, inspectDirectory, type Key } from '@syncline/streams';
import type { Command } from 'commander';
import { type CliWorld, say } from '../cli-world.js';
import { renderColumns } from '../columns.js';
import { formatDuration } from '../duration.js';
import { addExamples } from '../examples.js';
import { printable, printableJson } from '../printable.js';

interface InspectFlags {
  readonly operator?: string;
  readonly key?: string;
  readonly verify?: boolean;
  readonly json?: boolean;
}

export function fillStreamsCommand(streams: Command, world: CliWorld): void {
  const ls = streams.command('ls').description('List the pipelines at or below a directory');
  addExamples(ls, [
    ['syncline streams ls state', 'every pipeline below ./state'],
    ['syncline streams ls state --json', 'for a program, one pipeline per line'],
  ]);
  ls.argument('<dir>', 'Directory to look in')
    .option('--json', 'Print JSON, one pipeline per line')
    .action((dir: string, options: { readonly json?: boolean }) => list(world, dir, options));
  const inspect = streams.command('inspect').description('Show the checkpoint of a pipeline');
  addExamples(inspect, [
    ['syncline streams inspect state/clicks', 'positions, sinks, states, history'],
    ['syncline streams inspect state/clicks --verify', 'compare everything with its checksums'],
    ['syncline streams inspect state/clicks --operator totals --key ada', 'what one key holds'],
  ]);
  inspect
    .argument('<dir>', 'Checkpoint directory of the pipeline')
    .option('--operator <uid>', 'Only the states of this operator')
    .option('--key <key>', 'Show the value of a key: text, a number, or a bigint such as 42n')
    .option('--verify', 'Compare everything that is stored with its checksums')
    .option('--json', 'Print JSON')
    .action((dir: string, options: InspectFlags) => inspectOne(world, dir, options));
}

const deps = () => ({
  files: createSystemFiles('/'),
  clock: createSystemClock(),
  logger: silentLogger,
});

async function list(
  world: CliWorld,
  dir: string,
  { json = false }: { readonly json?: boolean },
): Promise<void> {
  const { files, clock, logger } = deps();
  const root = resolve(dir);
  if ((await files.stat(root.slice(1)))?.kind !== 'directory') {
    throw new SynclineError('not-found', `${root} is not a directory`, { details: { path: root } });
  }
  const paths = await findPipelines(files, root.slice(1));
  if (paths.length === 0) {
    throw new SynclineError('not-found', `No pipelines found in ${root}.`, {
      details: { path: root },
    });
  }
  const found: Inspection[] = [];
  for (const path of paths) found.push(await inspectDirectory(path, {}, { files, clock, logger }));
  if (json) {
    for (const each of found) world.stdout.write(`${printableJson(each, 0)}\n`);
    return;
  }
  const rows = found.map((each) => [
    printable(each.name),
    each.state,
    String(each.epoch),
    ageOf(each.atMs, clock.nowMs()),
    String(each.recordsIn),
    each.state === 'in-use' ? '-' : String(each.states.reduce((sum, { keys }) => sum + keys, 0)),
    each.state === 'in-use' ? '-' : String(each.states.reduce((sum, { bytes }) => sum + bytes, 0)),
    printable(`/${each.path}`),
  ]);
  const head = ['pipeline', 'state', 'epoch', 'age', 'records', 'keys', 'bytes', 'path'];
  world.stdout.write(renderColumns([head, ...rows]));
}

async function inspectOne(world: CliWorld, dir: string, flags: InspectFlags): Promise<void> {
  const { verify = false, operator } = flags;
  const path = resolve(dir).slice(1);
  const key = flags.key === undefined ? undefined : parseKey(flags.key);
  const found = await inspectDirectory(path, { verify, ...(key !== undefined && { key }) }, deps());
  const states =
    operator === undefined
      ? found.states
      : found.states.filter((each) => each.operator === operator);
  if (operator !== undefined && states.length === 0 && found.state !== 'in-use') {
    const known = [...new Set(found.states.map((each) => each.operator))].join(', ');
    throw new SynclineError('not-found', `no operator "${operator}" in /${path}; it has: ${known}`);
  }
  const shown = { ...found, states };
  if (flags.json === true) world.stdout.write(`${printableJson(shown, 2)}\n`);
  else world.stdout.write(render(shown, deps().clock.nowMs()));
  for (const problem of found.problems) say(world, `Damaged: ${printable(problem)}`);
  if (found.state === 'in-use') {
    const pid = found.holder === undefined ? 'another process' : `process ${found.holder.pid}`;
    const text = `The directory is in use by ${pid}; this is what it last reported in STATUS.json.`;
    if (verify) throw new SynclineError('locked', `${text} Stop it to verify the checkpoint.`);
    say(world, text);
  }
  if (found.problems.length > 0) {
    throw new SynclineError('corrupt', `the checkpoint in /${path} is damaged`, {
      details: { path },
    });
  }
}

/** As a shell gives it: digits are a number, digits and n a bigint, anything else text. */
function parseKey(text: string): Key {
  if (/^-?\d+n$/.test(text)) return BigInt(text.slice(0, -1));
  const number = Number(text);
  return /^-?\d+$/.test(text) && Number.isSafeInteger(number) ? number : text;
}

function ageOf(atMs: number | null, nowMs: number): string {
  return atMs === null ? '-' : formatDuration(Math.max(0, nowMs - atMs));
}

function render(found: Inspection, nowMs: number): string {
  const facts: [string, string][] = [
    ['pipeline', printable(found.name)],
    ['state', found.state],
    ['epoch', `${found.epoch}, ${ageOf(found.atMs, nowMs)} ago`],
    ['generation', String(found.generation)],
    ['records', `${found.recordsIn} in, ${found.recordsOut} out`],
  ];
  const sections = [renderColumns(facts)];
  const add = (head: readonly string[], rows: readonly (readonly string[])[]) => {
    if (rows.length > 0) sections.push(renderColumns([head, ...rows]));
  };
  add(
    ['source', 'partition', 'records', 'watermark', 'state', 'position'],
    Object.entries(found.partitions).flatMap(([source, partitions]) =>
      Object.entries(partitions).map(([partition, mark]) => [
        source,
        printable(partition),
        String(mark.count),
        mark.watermarkMs === null ? '-' : String(mark.watermarkMs),
        mark.isEnded ? 'ended' : mark.isIdle ? 'idle' : 'open',
        printable(JSON.stringify(mark.position)),
      ]),
    ),
  );
  add(
    ['sink', 'committed through', 'owed'],
    Object.entries(found.sinks).map(([uid, { committedEpoch, owed }]) => [
      uid,
      `epoch ${committedEpoch}`,
      owed ? `epoch ${found.epoch}, unless it was committed last` : 'nothing',
    ]),
  );
  add(
    ['operator', 'state', 'kind', 'codec', 'keys', 'bytes', 'value'],
    found.states.map((each) => [
      each.operator,
      each.state,
      each.kind,
      `${each.codec.id} ${each.codec.version}`,
      String(each.keys),
      String(each.bytes),
      each.value === undefined ? '' : each.value === null ? 'none' : printable(each.value.text),
    ]),
  );
  add(
    ['epoch', 'generation', 'records', 'bytes', 'took'],
    found.history
      .slice(-10)
      .map((line) => [
        String(line.epoch),
        String(line.generation),
        String(line.records),
        String(line.bytes),
        `${Math.round(line.tookMs)} ms`,
      ]),
  );
  add(
    ['savepoint'],
    found.savepoints.map((path) => [printable(`/${path}`)]),
  );
  return sections.join('\n');
}
