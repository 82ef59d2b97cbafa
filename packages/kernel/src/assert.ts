// Asserts what must hold if our own code is right. A failed assert is a bug of ours, never a user's.

/** Throws `AssertionError` when `condition` is false. What the world can do is a `SynclineError`. */
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
