// Assertions about our own code. A failed assertion is a bug in Syncline, never a mistake of the user.

/** Throws `AssertionError` when `condition` is false. For failures from outside, throw a `SynclineError` instead. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Ends a `switch` over a union: a new member does not compile until it is handled. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`);
}

export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}
