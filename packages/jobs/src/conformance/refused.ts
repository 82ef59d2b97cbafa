// What a refusal must contain: its code, and the details that programs read. More details are allowed.
import assert from 'node:assert/strict';
import { type ErrorCode, SynclineError } from '@syncline/kernel';

export async function isRefused(
  call: Promise<unknown> | (() => Promise<unknown>),
  code: ErrorCode,
  details: Readonly<Record<string, unknown>> = {},
): Promise<SynclineError> {
  const thrown = await (async () => (typeof call === 'function' ? call() : call))().then(
    (answer) => assert.fail(`wanted ${code}, got ${String(JSON.stringify(answer)).slice(0, 200)}`),
    (error: unknown) => error,
  );
  if (!(thrown instanceof SynclineError)) throw thrown;
  const shown = { code: thrown.code, ...pick(thrown.details, Object.keys(details)) };
  assert.deepEqual(shown, { code, ...details }, thrown.message);
  return thrown;
}

function pick(from: Readonly<Record<string, unknown>>, names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, from[name]]));
}
