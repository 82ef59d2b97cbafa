// Numbers: statuses, tasks, epochs, versions, revisions, times to live, sizes of buffers and pages.
import { jobsLimits } from '../limits.js';
import { refuseUnless } from './refuse.js';

const UINT32_MAX = 4_294_967_295;

/** A whole number within bounds. */
export function checkInteger(
  value: unknown,
  field: string,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const isGood = Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
  refuseUnless(isGood, field, { value, wanted: `a whole number from ${min} to ${max}` });
  return (value as number) + 0; // −0 is 0
}

export function checkStatus(value: unknown): number {
  return checkInteger(value, 'status', { min: -2_147_483_648, max: 2_147_483_647 });
}

/** Whether the job has this task is decided with the job at hand. */
export function checkTaskId(value: unknown, numTasks?: number): number {
  return checkInteger(value, 'taskId', {
    min: 0,
    max: (numTasks ?? jobsLimits.tasksPerJobMax.value) - 1,
  });
}

export function checkNumTasks(value: unknown): number {
  return checkInteger(value, 'numTasks', { min: 1, max: jobsLimits.tasksPerJobMax.value });
}

export function checkEpoch(value: unknown): number {
  return checkInteger(value, 'epoch', { min: 0, max: UINT32_MAX });
}

export function checkSchemaVersion(value: unknown): number {
  return checkInteger(value, 'schemaVersion', { min: 0, max: UINT32_MAX });
}

/** How far a cell is. */
export function checkProgress(value: unknown): number {
  const isGood = typeof value === 'number' && value >= 0 && value <= 1;
  refuseUnless(isGood, 'progress', { value, wanted: 'a number from 0 to 1' });
  return value + 0; // −0 is 0
}

/** A version or a revision. */
export function checkCount(value: unknown, field: string): number {
  return checkInteger(value, field, { min: 0, max: Number.MAX_SAFE_INTEGER });
}

/** 0: never expires. */
export function checkTtlMs(value: unknown): number {
  if (value === 0) return 0;
  const { leaseTtlMinMs, leaseTtlMaxMs } = jobsLimits;
  return checkInteger(value, 'ttlMs', { min: leaseTtlMinMs.value, max: leaseTtlMaxMs.value });
}

/** Events of a batch. */
export function checkBatchMax(value: unknown): number {
  return checkInteger(value, 'max', { min: 1, max: Number.MAX_SAFE_INTEGER });
}

/** More than fits on a page is no mistake: the page then holds what fits. */
export function checkPageLimit(value: unknown, most: number): number {
  return Math.min(checkInteger(value, 'limit', { min: 1, max: Number.MAX_SAFE_INTEGER }), most);
}
