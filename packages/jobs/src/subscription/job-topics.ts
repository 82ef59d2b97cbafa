// By which topics a change finds those who want it: a subscriber shares one with each change that it wants.
import type { JobChange } from '../core/rows.js';
import type { Scope } from '../state.js';
import type { JobFilter } from './job-filter.js';

const ALL_STATES = 's';
const ALL_LEASES = 'l';
const JOB = 'j';

/** The narrowest first: it names what the change replaces. */
export function changeTopics(change: JobChange): readonly string[] {
  switch (change.kind) {
    case 'state': {
      const { taskId, tag } = change.state;
      return [cellTopic(taskId, tag), taskTopic(taskId), tagTopic(tag), ALL_STATES];
    }
    case 'lease':
      return [leaseTopic(change.lease.taskId), ALL_LEASES];
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
