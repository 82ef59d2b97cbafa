// What a subscriber wants to see of a job: the states of a scope, and leases and metadata if it asks. And the topics
// by which a change finds its subscribers.
//
// A lease belongs to a task and to no tag, so only the task of the scope narrows it. Metadata belongs to all.
import type { StoreSubscribeOptions } from '../job-event.js';
import type { Scope } from '../state.js';
import type { StoredChange } from './stored-change.js';

export type JobFilter = Readonly<{ scope: Scope; withLeases: boolean; withJob: boolean }>;

/** What tells a change from others: enough to match it. */
export type ChangeSubject = Pick<StoredChange, 'kind' | 'taskId' | 'tag'>;

export function jobFilter({ scope, include = [] }: StoreSubscribeOptions): JobFilter {
  return { scope, withLeases: include.includes('lease'), withJob: include.includes('job') };
}

export function matchesFilter(
  { scope, withLeases, withJob }: JobFilter,
  { kind, taskId, tag }: ChangeSubject,
): boolean {
  switch (kind) {
    case 'state':
      return (
        (scope.taskId === undefined || scope.taskId === taskId) &&
        (scope.tag === undefined || scope.tag === tag)
      );
    case 'lease':
      return withLeases && (scope.taskId === undefined || scope.taskId === taskId);
    case 'job':
      return withJob;
  }
}

const ALL_STATES = 's';
const ALL_LEASES = 'l';
const JOB = 'j';

/** The narrowest first: a later change with the same one replaces this one. */
export function changeTopics({ kind, taskId, tag }: ChangeSubject): readonly string[] {
  switch (kind) {
    case 'state':
      return [cellTopic(taskId, tag), taskTopic(taskId), tagTopic(tag), ALL_STATES];
    case 'lease':
      return [leaseTopic(taskId), ALL_LEASES];
    case 'job':
      return [JOB];
  }
}

export function filterTopics({ scope, withLeases, withJob }: JobFilter): readonly string[] {
  const topics = [scopeTopic(scope)];
  if (withLeases) topics.push(scope.taskId === undefined ? ALL_LEASES : leaseTopic(scope.taskId));
  if (withJob) topics.push(JOB);
  return topics;
}

function scopeTopic({ taskId, tag }: Scope): string {
  if (taskId === undefined) return tag === undefined ? ALL_STATES : tagTopic(tag);
  return tag === undefined ? taskTopic(taskId) : cellTopic(taskId, tag);
}

const cellTopic = (taskId: number, tag: string): string => `${taskId}/${tag}`;
const taskTopic = (taskId: number): string => `t${taskId}`;
const tagTopic = (tag: string): string => `g${tag}`;
const leaseTopic = (taskId: number): string => `l${taskId}`;
