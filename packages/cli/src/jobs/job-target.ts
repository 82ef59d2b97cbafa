// What the commands about jobs have in common: where to ask, which part of a job, and its page.
import type { Scope } from '@syncline/jobs';
import { jobsLimits } from '@syncline/jobs';
import { SynclineError } from '@syncline/kernel';
import type { Command } from 'commander';
import { cliLimits } from '../limits.js';
import { fetchAnswer } from '../status/fetch-answer.js';
import type { StatusTarget, StatusTargetOptions } from '../status/status-target.js';
import { isJobAnswer, type JobAnswer } from './job-answers.js';
import { rethrowForPeople } from './no-such-job.js';

export interface JobCommandOptions extends StatusTargetOptions {
  readonly json?: true;
}

export interface ScopeOptions {
  readonly tag?: string;
  readonly task?: string;
}

export function addServerOptions(command: Command, jsonHelp: string): Command {
  return command
    .option('--url <url>', 'Where the server is (or SYNCLINE_URL; http://127.0.0.1:7400)')
    .option('--ca-file <file>', 'PEM file with the authority of its certificate')
    .option('--config <file>', "The server's TOML file: gives address, token and certificates")
    .option('--json', jsonHelp);
}

export function addScopeOptions(command: Command): Command {
  return command
    .option('--tag <tag>', 'Only this tag')
    .option('--task <index>', 'Only this task, counted from 0');
}

export function scopeOf({ tag, task }: ScopeOptions): Scope {
  const taskId = task === undefined ? undefined : taskIdOf(task);
  return { ...(taskId === undefined ? {} : { taskId }), ...(tag === undefined ? {} : { tag }) };
}

export function jobPath(jobId: string, query: URLSearchParams = new URLSearchParams()): string {
  const text = query.toString();
  return `/api/jobs/${encodeURIComponent(jobId)}${text === '' ? '' : `?${text}`}`;
}

export function scopeQuery({ taskId, tag }: Scope): URLSearchParams {
  const query = new URLSearchParams();
  if (taskId !== undefined) query.set('task', String(taskId));
  if (tag !== undefined) query.set('tag', tag);
  return query;
}

export function fetchJob(target: StatusTarget, jobId: string, scope: Scope): Promise<JobAnswer> {
  const bytesMax = cliLimits.jobAnswerBytesMax.value;
  const path = jobPath(jobId, scopeQuery(scope));
  return fetchAnswer(target, path, isJobAnswer, { bytesMax }).catch(rethrowForPeople(jobId));
}

function taskIdOf(text: string): number {
  const max = jobsLimits.tasksPerJobMax.value - 1;
  const taskId = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (taskId <= max) return taskId;
  throw new SynclineError(
    'invalid-argument',
    `--task is ${JSON.stringify(text.slice(0, 100))}; allowed is a whole number from 0 to ${max}.`,
  );
}
