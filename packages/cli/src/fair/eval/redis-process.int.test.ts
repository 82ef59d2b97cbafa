import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startRedisProcess } from './redis-process.js';

let directory = '';
let program = '';

/** A Redis that never finishes starting, and records its process id. */
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'syncline-redis-'));
  program = join(directory, 'redis-server');
  writeFileSync(program, `#!/bin/sh\necho $$ > ${directory}/pid\nexec sleep 60\n`, { mode: 0o755 });
});

afterEach(() => rmSync(directory, { recursive: true }));

test('a Redis that is not ready in time is reported and stopped', async () => {
  await expect(startRedisProcess({ program, timeoutMs: 3_000 })).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/^cannot start redis-server \(it was not ready in time\)/),
  });
  const pid = Number(readFileSync(join(directory, 'pid'), 'utf8'));
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});

test('a signal ends the wait immediately, and leaves no listener behind', async () => {
  const before = process.listenerCount('exit');
  const stop = new AbortController();
  const started = startRedisProcess({ program, signal: stop.signal });
  setImmediate(() => stop.abort(new Error('enough')));
  await expect(started).rejects.toThrow('enough');
  expect(process.listenerCount('exit')).toBe(before);
});

test('a program that is missing, or fails, is reported with the reason', async () => {
  const missing = join(directory, 'no-such-program');
  await expect(startRedisProcess({ program: missing })).rejects.toThrow(/ENOENT.*Install Redis/);
  await expect(startRedisProcess({ program: process.execPath })).rejects.toThrow(/cannot start/);
});
