// What replaces what: a state by its task and tag, a lease by its task, the metadata as a whole.
import type { JobInfo, Scope, State, TaskLease } from '../../job.js';
import type { StoreSubscribeOptions } from '../../job-store.js';

/** A committed change in the form that programs see. */
export type JobChange =
  | Readonly<{ kind: 'state'; revision: number; timestampMs: number; state: State }>
  | Readonly<{ kind: 'lease'; revision: number; timestampMs: number; lease: TaskLease }>
  | Readonly<{ kind: 'job'; revision: number; timestampMs: number; job: JobInfo }>;

export type Include = NonNullable<StoreSubscribeOptions['include']>;

export function keyOfState({ taskId, tag }: { readonly taskId: number; readonly tag: string }) {
  return `state ${taskId} ${tag}`;
}

export function keyOfChange(change: JobChange): string {
  switch (change.kind) {
    case 'state':
      return keyOfState(change.state);
    case 'lease':
      return `lease ${change.lease.taskId}`;
    case 'job':
      return 'job';
  }
}

export function isInScope(
  scope: Scope,
  cell: { readonly taskId: number; readonly tag: string },
): boolean {
  if (scope.taskId !== undefined && scope.taskId !== cell.taskId) return false;
  return scope.tag === undefined || scope.tag === cell.tag;
}

/** Whether a subscriber gets it. A lease has no tag: the scope's task alone counts. */
export function isForSubscriber(
  { scope, include }: { readonly scope: Scope; readonly include: Include },
  change: JobChange,
): boolean {
  switch (change.kind) {
    case 'state':
      return isInScope(scope, change.state);
    case 'lease':
      return (
        include.includes('lease') &&
        (scope.taskId === undefined || scope.taskId === change.lease.taskId)
      );
    case 'job':
      return include.includes('job');
  }
}
