// `syncline streams`: inspects pipelines through their checkpoint directories.
import { resolve } from 'node:path';
import { createSystemClock, SynclineError, silentLogger } from '@syncline/kernel';
import { createSystemFiles } from '@syncline/kernel/node';
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
    ['syncline streams ls state --json', 'for scripts, one pipeline per line'],
  ]);
  ls.argument('<dir>', 'Directory to look in')
    .option('--json', 'Print JSON, one pipeline per line')
    .action((dir: string, options: { readonly json?: boolean }) => list(world, dir, options));
  const inspect = streams.command('inspect').description('Show the checkpoint of a pipeline');
  addExamples(inspect, [
    ['syncline streams inspect state/clicks', 'positions, sinks, states, history'],
    ['syncline streams inspect state/clicks --verify', 'check everything against its checksums'],
    ['syncline streams inspect state/clicks --operator totals --key ada', 'the value of one key'],
  ]);
  inspect
    .argument('<dir>', 'Checkpoint directory of the pipeline')
    .option('--operator <uid>', 'Only the states of this operator')
    .option('--key <key>', 'Show the value of a key: a string, a number, or a bigint such as 42n')
    .option('--verify', 'Check everything stored against its checksums')
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
  const entry = await files.stat(root.slice(1));
  if (entry?.kind !== 'directory') {
    const what = entry === undefined ? 'does not exist' : 'is not a directory';
    throw new SynclineError('not-found', `${root} ${what}.`, { details: { path: root } });
  }
  const paths = await findPipelines(files, root.slice(1));
  if (paths.length === 0) {
    throw new SynclineError('not-found', `no pipelines found in ${root}.`, {
      details: { path: root },
    });
  }
  const nowMs = clock.nowMs();
  const rows: string[][] = [];
  let damaged = 0;
  for (const path of paths) {
    const found = await inspectDirectory(path, {}, { files, clock, logger }).catch(unreadable);
    const problems = found instanceof SynclineError ? [found.message] : found.problems;
    if (problems.length > 0) damaged += 1;
    for (const problem of problems) {
      say(world, printable(problem.includes(path) ? problem : `/${path}: ${problem}`));
    }
    if (json) {
      const shown = found instanceof SynclineError ? { path, state: found.code, problems } : found;
      world.stdout.write(`${printableJson(shown, 0)}\n`);
    } else rows.push([...rowOf(found, nowMs), printable(`/${path}`)]);
  }
  const head = ['pipeline', 'state', 'epoch', 'age', 'records', 'keys', 'bytes', 'path'];
  if (!json) world.stdout.write(renderColumns([head, ...rows]));
  if (damaged > 0) {
    const what = `${damaged} of ${paths.length} checkpoint directories cannot be used`;
    throw new SynclineError('corrupt', what, { details: { path: root } });
  }
}

/** For a directory that was written by a newer release, or not by Syncline. */
function unreadable(thrown: unknown): SynclineError {
  if (thrown instanceof SynclineError) return thrown;
  throw thrown;
}

function rowOf(found: Inspection | SynclineError, nowMs: number): string[] {
  if (found instanceof SynclineError) return ['-', found.code, '-', '-', '-', '-', '-'];
  const name = printable(found.name);
  if (!isKnown(found)) return [name, found.state, '-', '-', '-', '-', '-'];
  return [
    name,
    found.state,
    String(found.epoch),
    ageOf(found.atMs, nowMs),
    String(found.recordsIn),
    found.state === 'in-use' ? '-' : String(found.states.reduce((sum, { keys }) => sum + keys, 0)),
    bytesOf(found),
  ];
}

/** False if the store is too damaged to be opened, or in use by a run that has not reported yet. */
function isKnown({ state, atMs }: Inspection): boolean {
  return (state !== 'damaged' && state !== 'in-use') || atMs !== null;
}

/** Not available while a run is using the store, or for embedded state. */
function bytesOf({ state, states }: Inspection): string {
  if (state === 'in-use' || states.some(({ bytes }) => bytes === null)) return '-';
  return String(states.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0));
}

async function inspectOne(world: CliWorld, dir: string, flags: InspectFlags): Promise<void> {
  const { verify = false, operator } = flags;
  const path = resolve(dir).slice(1);
  const key = flags.key === undefined ? undefined : parseKey(flags.key);
  const found = await inspectDirectory(path, { verify, ...(key !== undefined && { key }) }, deps());
  if (found.state === 'in-use' && (operator !== undefined || key !== undefined)) {
    const unavailable =
      'Operators and keys can only be shown while no run uses it: stop that process.';
    throw new SynclineError(
      'locked',
      `the directory is in use by ${holderOf(found)}. ${unavailable}`,
    );
  }
  const states =
    operator === undefined
      ? found.states
      : found.states.filter((each) => each.operator === operator);
  if (operator !== undefined && states.length === 0) {
    const known = [...new Set(found.states.map((each) => each.operator))].join(', ');
    throw new SynclineError('not-found', `no operator "${operator}" in /${path}; it has: ${known}`);
  }
  const shown = { ...found, states };
  if (flags.json === true) world.stdout.write(`${printableJson(shown, 2)}\n`);
  else world.stdout.write(render(shown, deps().clock.nowMs()));
  conclude(world, found, verify);
}

/** What there is to say about the directory as a whole. Throws `locked` or `corrupt`. */
function conclude(world: CliWorld, found: Inspection, verify: boolean): void {
  if (verify && found.state !== 'in-use' && found.problems.length === 0) {
    say(world, `Verified: all ${found.notes.length > 0 ? 'other ' : ''}checksums match.`);
  }
  for (const note of found.notes) say(world, `Note: ${printable(note)}`);
  for (const problem of found.problems) say(world, `Damaged: ${printable(problem)}`);
  if (found.state === 'in-use') {
    const report =
      found.status === undefined
        ? 'it is starting and has not reported anything yet'
        : 'this is what it last reported in STATUS.json';
    const text = `The directory is in use by ${holderOf(found)}; ${report}.`;
    if (verify) throw new SynclineError('locked', `${text} Stop it to verify the checkpoint.`);
    say(world, text);
  }
  if (found.problems.length > 0) {
    const restore =
      found.savepoints.length === 0
        ? 'There is no savepoint to restore from; use a backup of the directory.'
        : 'Restore one of the savepoints into a new directory: start(…, { dir, restoreFrom, repeats }).';
    throw new SynclineError('corrupt', `the checkpoint in /${found.path} is damaged. ${restore}`, {
      details: { path: found.path },
    });
  }
}

function holderOf({ holder }: Inspection): string {
  return holder === undefined ? 'another process' : `process ${holder.pid}`;
}

/** Digits are a number, digits followed by n a bigint, anything else a string. */
function parseKey(text: string): Key {
  if (/^-?\d+n$/.test(text)) return BigInt(text.slice(0, -1));
  const number = Number(text);
  return /^-?\d+$/.test(text) && Number.isSafeInteger(number) ? number : text;
}

function ageOf(atMs: number | null, nowMs: number): string {
  return atMs === null ? '-' : formatDuration(Math.max(0, nowMs - atMs));
}

/** STATUS.json has more details about a running pipeline, and why one failed. */
function stateOf({ state, status }: Inspection): string {
  if (status === undefined || (state !== 'in-use' && state !== 'failed')) return state;
  const shown = state === 'failed' ? state : `in use, ${status.state}`;
  return `${shown}${status.error === null ? '' : `: ${printable(status.error)}`}`;
}

function render(found: Inspection, nowMs: number): string {
  const facts: [string, string][] = [
    ['pipeline', printable(found.name)],
    ['state', stateOf(found)],
  ];
  if (isKnown(found)) {
    facts.push(
      ['epoch', found.atMs === null ? 'none' : `${found.epoch}, ${ageOf(found.atMs, nowMs)} ago`],
      ['generation', String(found.generation)],
      ['records', `${found.recordsIn} in, ${found.recordsOut} out`],
    );
  }
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
    // A commit is recorded in the next checkpoint, so that of the last epoch is only known if the run reported its end.
    ['sink', 'committed', 'to be confirmed'],
    Object.entries(found.sinks).map(([uid, { committedEpoch, owed }]) => {
      const isDone = found.state === 'finished' && found.status?.state === 'finished';
      const epoch = isDone ? found.epoch : committedEpoch;
      return [
        uid,
        epoch === 0 ? '-' : `through epoch ${epoch}`,
        owed && !isDone ? `epoch ${found.epoch}, by the next checkpoint or start` : '-',
      ];
    }),
  );
  add(
    ['operator', 'state', 'kind', 'codec', 'keys', 'bytes', 'value'],
    found.states.map((each) => [
      each.operator,
      each.state,
      each.kind,
      `${each.codec.id} ${each.codec.version}`,
      String(each.keys),
      String(each.bytes ?? '-'),
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
