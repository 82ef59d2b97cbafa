// What a subscriber wants to see of a job: the states of a scope, and leases and metadata if it asks.
//
// A lease belongs to a task and to no tag, so only the task of the scope narrows it. Metadata belongs to all.
import type { JobChange } from '../core/rows.js';
import type { StoreSubscribeOptions } from '../job-event.js';
import type { Scope } from '../state.js';

export type JobFilter = Readonly<{ scope: Scope; withLeases: boolean; withJob: boolean }>;

export function jobFilter({ scope, include = [] }: StoreSubscribeOptions): JobFilter {
  return { scope, withLeases: include.includes('lease'), withJob: include.includes('job') };
}

export function matchesFilter(
  { scope, withLeases, withJob }: JobFilter,
  change: JobChange,
): boolean {
  switch (change.kind) {
    case 'state':
      return (
        (scope.taskId === undefined || scope.taskId === change.state.taskId) &&
        (scope.tag === undefined || scope.tag === change.state.tag)
      );
    case 'lease':
      return withLeases && (scope.taskId === undefined || scope.taskId === change.lease.taskId);
    case 'job':
      return withJob;
  }
}
