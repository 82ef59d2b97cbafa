import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { removeStale, withBootstrapLock } from './lock.mjs';
import { runStep, StepError } from './step.mjs';

describe('the lock', () => {
  const folder = mkdtempSync(join(tmpdir(), 'syncline-lock-'));
  const lockPath = join(folder, 'bootstrap.lock');

  afterAll(() => rmSync(folder, { recursive: true }));

  test('lets one bootstrap work at a time', async () => {
    const events: string[] = [];
    const work = (name: string) => async () => {
      events.push(`${name} begins`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      events.push(`${name} ends`);
    };
    await Promise.all([
      withBootstrapLock(work('one'), lockPath),
      withBootstrapLock(work('two'), lockPath),
    ]);
    expect(events).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
  });

  test('is released when the work fails', async () => {
    const broken = withBootstrapLock(() => Promise.reject(new Error('no')), lockPath);
    await expect(broken).rejects.toThrow('no');
    expect(await withBootstrapLock(async () => 'free', lockPath)).toBe('free');
  });

  test('of a dead process is taken over', async () => {
    const { pid } = spawnSync(process.execPath, ['--version']);
    writeFileSync(lockPath, String(pid));
    expect(await withBootstrapLock(async () => 'taken', lockPath)).toBe('taken');
  });

  test('that is not refreshed is taken over, although a process with its pid exists', async () => {
    writeFileSync(lockPath, String(process.ppid));
    const options = { untouchedMs: 400 };
    expect(await withBootstrapLock(async () => 'taken', lockPath, options)).toBe('taken');
  });

  test('of a long-running process is not taken over', async () => {
    const options = { untouchedMs: 400 };
    const events: string[] = [];
    const long = withBootstrapLock(
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        events.push('long ends');
      },
      lockPath,
      options,
    );
    const next = withBootstrapLock(async () => void events.push('next'), lockPath, options);
    await Promise.all([long, next]);
    expect(events).toEqual(['long ends', 'next']);
  });

  test('that another waiter has just taken over is put back', () => {
    writeFileSync(lockPath, 'new');
    removeStale(lockPath, 'old');
    expect(readdirSync(folder)).toEqual(['bootstrap.lock']);
    removeStale(lockPath, 'new');
    expect(readdirSync(folder)).toEqual([]);
    removeStale(lockPath, 'new'); // gone meanwhile
  });
});

describe('a step', () => {
  const step = { name: 'step-test', title: 'Trying …', silentMs: 60_000, hint: 'Try again.' };

  test('that fails shows the end of its output, the command and the hint', async () => {
    const program = 'for (let i = 0; i < 30; i++) console.log("line", i); process.exit(7)';
    const failure = await runStep({
      ...step,
      command: process.execPath,
      args: ['-e', program],
    }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StepError);
    const message = String(failure);
    expect(message).toContain('| line 29\n');
    expect(message).not.toContain('line 9\n');
    expect(message).toContain('ended with exit code 7. Try again. The full output is in .cache/');
  });

  test('whose program is missing reports it', async () => {
    const started = runStep({ ...step, command: 'no-such-program-here', args: [] });
    await expect(started).rejects.toThrow(/cannot run no-such-program-here .*ENOENT.* Try again\./);
  });
});
