// Shared by `jobs set` and `jobs run`: the options that name a task, and a job manager that reports over HTTP.
import {
  createJobManager,
  type JobInfo,
  type JobManager,
  type JobStore,
  type SetStateResult,
  type TaskLease,
} from '@syncline/jobs';
import { SynclineError, silentLogger } from '@syncline/kernel';
import type { Command } from 'commander';
import { type CliWorld, say } from '../cli-world.js';
import { printable } from '../printable.js';
import { fetchAnswer } from '../status/fetch-answer.js';
import { type StatusTarget, statusTarget } from '../status/status-target.js';
import { isCreation, isJobAnswer, isLeaseAnswer, isWriteAnswer } from './job-answers.js';
import { fetchJob, type JobCommandOptions, jobPath, noSuchTask, taskIdOf } from './job-target.js';
import { previousHolder } from './previous-holder.js';

export interface ReportOptions extends JobCommandOptions {
  readonly task: string;
  readonly tag: string;
  readonly tasks?: string;
}

export function addReportOptions(command: Command): Command {
  return command
    .requiredOption('--task <index>', 'Index of the task, counted from 0')
    .requiredOption('--tag <tag>', 'Tag to report on')
    .option('--tasks <count>', 'Number of tasks; creates the job if it does not exist');
}

/** For the help of a command that claims its task. */
export const NEWEST_CLAIM =
  '\nThe newest claim of a task wins: a process that held it before can no longer write.';

/** Called with each refusal because another process has the task. */
type OnFenced = (error: SynclineError) => void;

/** Claims the task, which fences any process that reported for it before; if there was one, it is named. */
export async function openReporter(
  world: CliWorld,
  jobId: string,
  options: ReportOptions,
  onFenced: OnFenced = () => {},
): Promise<JobManager> {
  const target = statusTarget(options, world.environment);
  const taskIndex = taskIdOf(options.task);
  const wanted = options.tasks === undefined ? undefined : countOf('--tasks', options.tasks);
  // The manager would silently retry for a minute if the server cannot be reached.
  const known = await fetchJob(target, jobId, {}).catch((thrown: unknown) => {
    if (!isNotFound(thrown)) throw thrown;
    if (wanted === undefined) throw noSuchJob(thrown);
  });
  const numTasks = known?.job.numTasks ?? wanted ?? 0;
  if (taskIndex >= numTasks) throw noSuchTask(jobId, taskIndex, numTasks - 1);
  if (wanted !== undefined && wanted !== numTasks)
    say(
      world,
      `Job ${printable(jobId)} has ${numTasks} ${numTasks === 1 ? 'task' : 'tasks'}; ignoring --tasks ${wanted}.`,
    );
  const holder =
    known && (await previousHolder(target, { jobId, taskId: taskIndex, tag: options.tag }));
  const task = { store: httpTaskStore(target, onFenced), jobId, taskIndex, numTasks };
  const manager = await createJobManager(task, { log: silentLogger });
  if (holder !== undefined) say(world, takeoverText(taskIndex, holder));
  return manager;
}

function takeoverText(taskId: number, holder: string): string {
  const who = holder === '' ? 'a process that gave no name' : printable(holder);
  return `Task ${taskId} was held by ${who}; that process can no longer write.`;
}

function noSuchJob(thrown: SynclineError): SynclineError {
  const { code, message, retryable, outcome, details } = thrown;
  const options = { retryable, outcome, details, cause: thrown };
  return new SynclineError(code, `${message} To create it, add --tasks N.`, options);
}

function isNotFound(thrown: unknown): thrown is SynclineError {
  return thrown instanceof SynclineError && thrown.code === 'not-found';
}

function countOf(flag: string, text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  const shown = JSON.stringify(text.slice(0, 100));
  throw new SynclineError('invalid-argument', `${flag} is ${shown}; expected a positive integer.`);
}

type TaskStore = Pick<JobStore, 'capabilities' | 'createJob' | 'getJob' | 'lease' | 'setState'>;

/**
 * A job store over the server's HTTP API, reduced to what a manager needs to report for one task. The manager adds
 * retries, heartbeats, messages and fencing.
 */
function httpTaskStore(target: StatusTarget, onFenced: OnFenced): JobStore {
  const rethrow = (thrown: unknown): never => {
    if (thrown instanceof SynclineError && thrown.code === 'fenced') onFenced(thrown);
    throw thrown;
  };
  const taskPath = (jobId: string, taskId: number, rest: string) =>
    `${jobPath(jobId)}/tasks/${taskId}/${rest}`;
  const store: TaskStore = {
    capabilities: {
      history: 'all',
      reads: 'linearizable',
      durability: 'synced',
      lost: 'store',
    },
    async createJob({ jobId, ...body }) {
      return fetchAnswer(target, jobPath(jobId), isCreation, { method: 'PUT', body });
    },
    async getJob(jobId): Promise<JobInfo | undefined> {
      try {
        return (await fetchAnswer(target, jobPath(jobId), isJobAnswer)).job;
      } catch (thrown) {
        if (isNotFound(thrown)) return undefined;
        throw thrown;
      }
    },
    async lease({ jobId, taskId, action, ttlMs, holder, incarnation, epoch }): Promise<TaskLease> {
      const body = action === 'claim' ? { incarnation, ttlMs, holder } : { incarnation, epoch };
      const path = taskPath(jobId, taskId, action);
      const options = { method: 'POST', body } as const;
      return (await fetchAnswer(target, path, isLeaseAnswer, options).catch(rethrow)).lease;
    },
    async setState({ jobId, taskId, tag, ...body }): Promise<SetStateResult> {
      const path = taskPath(jobId, taskId, `tags/${encodeURIComponent(tag)}`);
      const options = { method: 'PUT', body } as const;
      return fetchAnswer(target, path, isWriteAnswer, options).catch(rethrow);
    },
  };
  return store as JobStore; // a manager that only writes asks for no more
}
