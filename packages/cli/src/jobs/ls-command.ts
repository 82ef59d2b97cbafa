// `syncline jobs ls`: the jobs of a server, each with its progress.
import type { JobList, JobSummary, StatusClass } from '@syncline/jobs';
import { createSystemClock, SynclineError } from '@syncline/kernel';
import type { Command } from 'commander';
import { type CliWorld, say } from '../cli-world.js';
import { displayWidth } from '../display-width.js';
import { formatDuration } from '../duration.js';
import { addExamples } from '../examples.js';
import { type Paint, paintFor } from '../paint.js';
import { printable, printableJson } from '../printable.js';
import { type Screen, screenOf } from '../screen.js';
import { fetchAnswer } from '../status/fetch-answer.js';
import { type StatusTarget, statusTarget } from '../status/status-target.js';
import { isJobList } from './job-answers.js';
import { addServerOptions, damagedJobText, type JobCommandOptions } from './job-target.js';
import { type ProgressRow, renderProgressRows } from './progress-table.js';

interface LsOptions extends JobCommandOptions {
  readonly prefix?: string;
  readonly worst?: string;
}

/** Jobs with long lists of tags and labels make long answers. */
const PAGE_JOBS = 100;

export function addLsCommand(jobs: Command, world: CliWorld): void {
  const command = jobs.command('ls').description('List jobs with their progress');
  addExamples(command, [
    ['syncline jobs ls', 'all jobs on the local server'],
    ['syncline jobs ls --prefix nightly-', 'jobs whose names start with nightly-'],
    ['syncline jobs ls --worst failed', 'jobs with a failed cell'],
    ['syncline jobs ls --json', 'for scripts, one job per line'],
  ]);
  command
    .option('--prefix <text>', 'Only jobs whose names start with this text')
    .option(
      '--worst <class>',
      'Only jobs whose worst cell is failed, warned, not-started, running or finished',
    );
  addServerOptions(command, 'Print JSON, one job per line').action((options: LsOptions) =>
    listJobs(world, options),
  );
}

const CLASSES: readonly StatusClass[] = ['failed', 'warned', 'not-started', 'running', 'finished'];

async function listJobs(world: CliWorld, options: LsOptions): Promise<void> {
  checkWorst(options.worst);
  const { stdout, environment } = world;
  const target = statusTarget(options, environment);
  const found: JobSummary[] = [];
  for await (const { jobs, damaged = [] } of pagesOf(target, options)) {
    for (const jobId of damaged) say(world, damagedJobText(jobId));
    if (options.json) for (const job of jobs) stdout.write(`${printableJson(job, 0)}\n`);
    else found.push(...jobs);
  }
  if (options.json) return;
  const nowMs = createSystemClock().nowMs();
  const screen = { ...screenOf(stdout), rows: Number.POSITIVE_INFINITY };
  const isFiltered = options.prefix !== undefined || options.worst !== undefined;
  const none = isFiltered ? 'No matching jobs.' : 'No jobs found.';
  const view = { nowMs, screen, paint: paintFor(stdout, environment) };
  const lines = found.length === 0 ? [none] : renderJobs(found, view);
  stdout.write(lines.map((line) => `${line}\n`).join(''));
}

function checkWorst(worst: string | undefined): void {
  if (worst === undefined || CLASSES.some((known) => known === worst)) return;
  throw new SynclineError(
    'invalid-argument',
    `--worst is ${JSON.stringify(worst.slice(0, 100))}; expected one of ${CLASSES.join(', ')}.`,
  );
}

async function* pagesOf(
  target: StatusTarget,
  { prefix, worst }: LsOptions,
): AsyncGenerator<JobList> {
  const query = new URLSearchParams({ limit: String(PAGE_JOBS) });
  if (prefix !== undefined) query.set('prefix', prefix);
  if (worst !== undefined) query.set('worst', worst);
  for (;;) {
    const page = await fetchAnswer(target, `/api/jobs?${query.toString()}`, isJobList);
    yield page;
    const { next } = page;
    if (next === undefined || next === query.get('after')) return;
    query.set('after', next);
  }
}

interface ListView {
  readonly nowMs: number;
  readonly screen: Screen;
  readonly paint: Paint;
}

function renderJobs(
  jobs: readonly JobSummary[],
  { nowMs, screen, paint }: ListView,
): readonly string[] {
  const rows = jobs.map((job) => rowOf(job, nowMs));
  const noteWidthLeast = Math.max(...rows.map(({ note }) => displayWidth(note)));
  return renderProgressRows(rows, {
    noun: 'job',
    noteTitle: 'changed',
    noteWidthLeast,
    screen,
    paint,
  });
}

function rowOf({ job, cells, percent, lostTasks }: JobSummary, nowMs: number): ProgressRow {
  const facts = [
    `${formatDuration(Math.max(0, nowMs - job.changedAtMs))} ago`,
    ...(job.deletedAtMs === undefined ? [] : ['marked as deleted']),
    ...(lostTasks === 0 ? [] : [`${lostTasks} lost`]),
  ];
  return {
    name: printable(job.jobId),
    cells,
    percent,
    note: facts.join(', '),
    noteColor: lostTasks > 0 ? 'red' : 'dim',
    isTotal: false,
  };
}
