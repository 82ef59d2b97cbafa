// Shared by the jobs commands: options, the scope within a job, paths and error messages.
import { jobsLimits, type Scope } from '@syncline/jobs';
import { SynclineError } from '@syncline/kernel';
import type { Command } from 'commander';
import { cliLimits } from '../limits.js';
import { printable } from '../printable.js';
import { fetchAnswer } from '../status/fetch-answer.js';
import {
  addTargetOptions,
  type StatusTarget,
  type StatusTargetOptions,
} from '../status/status-target.js';
import { isJobAnswer, type JobAnswer } from './job-answers.js';

export interface JobCommandOptions extends StatusTargetOptions {
  readonly json?: true;
}

export interface ScopeOptions {
  readonly tag?: string;
  readonly task?: string;
}

export function addServerOptions(command: Command, jsonHelp: string): Command {
  return addTargetOptions(command).option('--json', jsonHelp);
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
  return fetchAnswer(target, path, isJobAnswer, { bytesMax }).catch(rethrowAsCliError(jobId));
}

export function taskIdOf(text: string): number {
  const max = jobsLimits.tasksPerJobMax.value - 1;
  const taskId = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (taskId <= max) return taskId;
  throw new SynclineError(
    'invalid-argument',
    `--task is ${JSON.stringify(text.slice(0, 100))}; expected an integer from 0 to ${max}.`,
  );
}

// The server phrases errors in terms of HTTP; these are phrased in terms of commands.

/** Rephrases "no such job" and "no such task"; other errors are returned unchanged. */
export function toCliError(thrown: unknown, jobId: string): unknown {
  if (!(thrown instanceof SynclineError)) return thrown;
  const { code, retryable, outcome, details } = thrown;
  const message = cliMessageOf(thrown, jobId);
  if (message === undefined) return thrown;
  return new SynclineError(code, message, { retryable, outcome, details, cause: thrown });
}

function cliMessageOf({ code, message }: SynclineError, jobId: string): string | undefined {
  const name = JSON.stringify(jobId);
  if (code === 'not-found' && message.startsWith('no such job'))
    return `no such job: ${name}. Run "syncline jobs ls" to list all jobs.`;
  const [, taskId, last] =
    /^taskId is (\d+); expected an integer from 0 to (\d+)/.exec(message) ?? [];
  if (code !== 'invalid-argument' || last === undefined) return undefined;
  return noSuchTask(jobId, Number(taskId), Number(last)).message;
}

export function noSuchTask(jobId: string, taskId: number, last: number): SynclineError {
  const tasks = last === 0 ? 'only task 0' : `tasks 0 to ${last}`;
  const message = `--task is ${taskId}; job ${JSON.stringify(jobId)} has ${tasks}.`;
  return new SynclineError('invalid-argument', message);
}

/** For `catch`. */
export function rethrowAsCliError(jobId: string): (thrown: unknown) => never {
  return (thrown) => {
    throw toCliError(thrown, jobId);
  };
}

/** For a job whose metadata the server cannot read. It can be listed and deleted, nothing else. */
export function damagedJobText(jobId: string): string {
  const name = printable(jobId);
  return `🔴 Job ${name} is damaged on disk and cannot be shown. Restore a backup, or delete it: syncline jobs rm ${name}`;
}

/** For `catch`. */
export function undefinedIfDamaged(thrown: unknown): undefined {
  if (!(thrown instanceof SynclineError) || thrown.code !== 'corrupt') throw thrown;
}

/** More would push the message off the screen. */
const SHOWN_TAGS_MAX = 20;

export interface UnknownTag {
  readonly tag: string;
  readonly known: readonly string[];
}

/** The tag of the scope, if no task has written it and it is not expected. It is probably misspelled. */
export async function unknownTag(
  target: StatusTarget,
  { jobId, scope: { tag } }: { readonly jobId: string; readonly scope: Scope },
): Promise<UnknownTag | undefined> {
  if (tag === undefined) return undefined;
  const { progress } = await fetchJob(target, jobId, {}); // its tags are those expected or written
  const known = progress.tags.map((row) => row.tag);
  return known.includes(tag) ? undefined : { tag, known };
}

/** For a command that waits: a tag that is not expected may still be written. */
export function unknownTagText({ tag, known }: UnknownTag): string {
  const there = known.length === 0 ? 'The job has no tags yet.' : `Known tags: ${listed(known)}.`;
  return `🟡 No task has written tag "${printable(tag)}", and it is not expected. ${there}`;
}

export function unknownTagError(jobId: string, { tag, known }: UnknownTag): SynclineError {
  const there = known.length === 0 ? 'the job has no tags yet' : `known tags: ${listed(known)}`;
  const what = `no task of job ${JSON.stringify(jobId)} has written tag ${JSON.stringify(tag)}`;
  return new SynclineError('not-found', `${what}, and it is not expected; ${there}.`);
}

function listed(tags: readonly string[]): string {
  const shown = tags.slice(0, SHOWN_TAGS_MAX).map(printable).join(', ');
  const more = tags.length - SHOWN_TAGS_MAX;
  return more > 0 ? `${shown} and ${more} more` : shown;
}
