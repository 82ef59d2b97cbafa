// `syncline jobs show`: the current state of a job, or of one tag or task.
import type { Scope, State } from '@syncline/jobs';
import type { Command } from 'commander';
import type { CliWorld } from '../cli-world.js';
import { renderColumns } from '../columns.js';
import { addExamples } from '../examples.js';
import { paintFor } from '../paint.js';
import { printable, printableJson } from '../printable.js';
import { screenOf } from '../screen.js';
import { statusTarget } from '../status/status-target.js';
import type { JobAnswer } from './job-answers.js';
import {
  addScopeOptions,
  addServerOptions,
  fetchJob,
  type JobCommandOptions,
  type ScopeOptions,
  scopeOf,
  unknownTag,
  unknownTagError,
} from './job-target.js';
import { percentText, renderProgress } from './progress-table.js';
import { renderLost, type ViewOptions } from './watch-view.js';

interface ShowOptions extends JobCommandOptions, ScopeOptions {}

export function addShowCommand(jobs: Command, world: CliWorld): void {
  const command = jobs.command('show <job>').description('Show a job, or one of its tags or tasks');
  addExamples(command, [
    ['syncline jobs show nightly-42', 'progress by tag'],
    ['syncline jobs show nightly-42 --task 3', 'the states of task 3'],
    ['syncline jobs show nightly-42 --task 3 --tag ingest', 'one state in full'],
    ['syncline jobs show nightly-42 --json', 'for scripts'],
  ]);
  addServerOptions(addScopeOptions(command), 'Print JSON').action(
    (jobId: string, options: ShowOptions) => show(world, jobId, options),
  );
}

async function show(world: CliWorld, jobId: string, options: ShowOptions): Promise<void> {
  const { stdout, environment } = world;
  const scope = scopeOf(options);
  const target = statusTarget(options, environment);
  const answer = await fetchJob(target, jobId, scope);
  const unknown = await unknownTag(target, { jobId, scope });
  if (unknown !== undefined) throw unknownTagError(jobId, unknown);
  if (options.json) {
    stdout.write(`${printableJson(answer)}\n`);
    return;
  }
  const screen = { ...screenOf(stdout), rows: Number.POSITIVE_INFINITY };
  const lines = renderJob(answer, scope, { paint: paintFor(stdout, environment), screen });
  stdout.write(lines.map((line) => `${line}\n`).join(''));
}

function renderJob(answer: JobAnswer, scope: Scope, options: ViewOptions): readonly string[] {
  const { job, progress } = answer;
  const { paint } = options;
  const facts = [
    ['tasks', String(job.numTasks)],
    ['created', timeText(job.createdAtMs)],
    ['changed', `${timeText(job.changedAtMs)}, revision ${job.revision.toLocaleString('en-US')}`],
    ...(job.deletedAtMs === undefined ? [] : [['marked as deleted', timeText(job.deletedAtMs)]]),
    ...Object.entries(job.labels).map(([name, value]) => [printable(name), printable(value)]),
  ];
  const isOneState = scope.taskId !== undefined && scope.tag !== undefined;
  const body = isOneState
    ? linesOf(stateFacts(progress.lowest))
    : [
        ...renderProgress(progress, options),
        ...remarksOn(progress).map((text) => paint('dim', text)),
      ];
  return [
    ` ${paint('bold', printable(job.jobId))}`,
    ...linesOf(facts),
    '',
    ...body,
    '',
    renderLost({ ...answer, scope }, paint),
  ];
}

/** `all` counts a cell of an unexpected tag only if it was written; the row of that tag counts every task. */
function remarksOn({ cells, tags }: JobAnswer['progress']): readonly string[] {
  const inTags = tags.reduce((sum, row) => sum + row.cells.total, 0);
  if (inTags <= cells.total) return [];
  return [' "all" leaves out unexpected tags that a task has not written.'];
}

function stateFacts(state: State): readonly (readonly string[])[] {
  const { payload } = state;
  return [
    ['task', String(state.taskId)],
    ['tag', printable(state.tag)],
    ['status', `${state.status} (${printable(state.statusClass)})`],
    ['message', printable(state.message)],
    ...(state.progress === undefined ? [] : [['progress', percentText(state.progress)]]),
    ['written', state.version === 0 ? 'never' : timeText(state.timestampMs)],
    ['version', `${state.version}, revision ${state.revision}`],
    ...(payload === undefined ? [] : [['payload', printableJson(payload, 0)]]),
  ];
}

function linesOf(rows: readonly (readonly string[])[]): readonly string[] {
  return renderColumns(rows, ' ').trimEnd().split('\n');
}

/** In UTC, since a job may be viewed from several time zones. A value outside the calendar is shown as is. */
function timeText(timeMs: number): string {
  const time = new Date(timeMs);
  return Number.isNaN(time.getTime()) ? String(timeMs) : time.toISOString().replace(/\.\d+Z$/, 'Z');
}
