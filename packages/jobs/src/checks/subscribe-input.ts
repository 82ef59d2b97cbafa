// What a subscriber may ask for. The cursor is checked where it is read.
import type { Overflow, StoreSubscribeOptions } from '../job-event.js';
import { jobsLimits } from '../limits.js';
import type { Scope } from '../state.js';
import { checkInteger } from './numbers.js';
import { checkObject, refuseUnless } from './refuse.js';
import { checkScope } from './task-input.js';

const BUFFER_EVENTS_DEFAULT = 256;
const BUFFER_BYTES_DEFAULT = 1 << 20;
const OVERFLOWS: readonly unknown[] = ['block', 'coalesce', 'fail'] satisfies readonly Overflow[];

/** With the defaults filled in. */
export type CheckedSubscribeOptions = Omit<StoreSubscribeOptions, 'overflow' | 'buffer'> &
  Readonly<{
    scope: Scope;
    include: readonly ('lease' | 'job')[];
    overflow: Overflow;
    buffer: Readonly<{ maxEvents: number; maxBytes: number }>;
  }>;

export function checkSubscribeOptions(
  options: StoreSubscribeOptions,
  numTasks?: number,
): CheckedSubscribeOptions {
  const { include = [], overflow = 'block', buffer = {} } = options;
  const isInclude =
    Array.isArray(include) && include.every((kind) => kind === 'lease' || kind === 'job');
  refuseUnless(isInclude, 'include', { value: include, wanted: "a list of 'lease' and 'job'" });
  refuseUnless(OVERFLOWS.includes(overflow), 'overflow', {
    value: overflow,
    wanted: "'block', 'coalesce' or 'fail'",
  });
  checkObject(buffer, 'buffer');
  return {
    ...options,
    scope: checkScope(options.scope, numTasks),
    include,
    overflow,
    buffer: checkBuffer(buffer),
  };
}

function checkBuffer({
  maxEvents = BUFFER_EVENTS_DEFAULT,
  maxBytes = BUFFER_BYTES_DEFAULT,
}: NonNullable<StoreSubscribeOptions['buffer']>): CheckedSubscribeOptions['buffer'] {
  const { bufferEventsMin, bufferEventsMax, bufferBytesMin, bufferBytesMax } = jobsLimits;
  const events = { min: bufferEventsMin.value, max: bufferEventsMax.value };
  const bytes = { min: bufferBytesMin.value, max: bufferBytesMax.value };
  return {
    maxEvents: checkInteger(maxEvents, 'buffer.maxEvents', events),
    maxBytes: checkInteger(maxBytes, 'buffer.maxBytes', bytes),
  };
}
