// Continues with a result: immediately, or later if it is a promise. The memory store answers synchronously,
// and a delta must not wait for the next microtask.
import type { MaybePromise } from './fair-store.js';

export function whenDone<T, R>(
  answer: MaybePromise<T>,
  goOn: (value: T) => MaybePromise<R>,
): MaybePromise<R> {
  return answer instanceof Promise ? answer.then(goOn) : goOn(answer);
}
