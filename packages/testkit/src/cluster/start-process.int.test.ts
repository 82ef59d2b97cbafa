import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testkitLimits } from '../limits.js';
import { makeTempDirectory } from '../temp-directory.js';
import { startProcess } from './start-process.js';

/** A child that runs a line of JavaScript. */
const node = (script: string) =>
  startProcess({ name: 'child', command: process.execPath, args: ['-e', script] });
/** A zombie process does not count as running. */
const isRunning = (pid: number) =>
  /^[^Z]/.test(spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout);
const forever = 'setInterval(() => {}, 1000);';

describe('waiting for a line', () => {
  it('finds it in either stream, before and after', async () => {
    await using child = await node(`console.log('one'); console.error('two'); ${forever}`);
    const find = (wanted: string) => (line: string) => (line === wanted ? line : undefined);
    expect(await child.waitForLine(find('two'), 60_000)).toBe('two');
    expect(await child.waitForLine(find('one'), 60_000)).toBe('one');
    expect(await child.waitForLine(find('one'), 60_000)).toBe('one');
  });

  it('throws with the last output when the child ends first', async () => {
    await using child = await node(`console.error('it hurts'); process.exit(4)`);
    await expect(child.waitForLine(() => undefined, 60_000)).rejects.toThrow(
      /^child ended \(exit code 4\) before it printed the expected line\n.*it hurts/s,
    );
  });

  it('throws with the last output on timeout', async () => {
    await using child = await node(`console.log('thinking'); ${forever}`);
    await child.waitForLine((line) => line || undefined, 60_000);
    await expect(child.waitForLine(() => undefined, 50)).rejects.toThrow(
      /within 50 ms\n.*thinking/s,
    );
  });
});

describe('the end of a process', () => {
  it('is reported as code or signal, with all its output', async () => {
    await using ends = await node(
      `for (let i = 0; i < 1000; i++) console.log('line', i); process.exitCode = 5`,
    );
    expect(await ends.exited).toEqual({ code: 5, signal: null });
    expect(ends.stdout.lines.at(-1)).toBe('line 999');
    await using killed = await node(forever);
    expect(await killed.kill()).toEqual({ code: null, signal: 'SIGKILL' });
    expect(await killed.kill()).toEqual({ code: null, signal: 'SIGKILL' });
    expect(killed.exit).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('can be requested, and is forced and reported if it does not happen', async () => {
    await using willing = await node(
      `process.on('SIGTERM', () => process.exit(0)); console.log('up'); ${forever}`,
    );
    await willing.waitForLine((line) => line, 60_000);
    expect(await willing.stop()).toEqual({ code: 0, signal: null });
    await using stubborn = await node(
      `process.on('SIGTERM', () => {}); console.log('up'); ${forever}`,
    );
    await stubborn.waitForLine((line) => line, 60_000);
    await expect(stubborn.stop(50)).rejects.toThrow(/^child did not stop within 50 ms/);
    expect(isRunning(stubborn.pid)).toBe(false);
  });

  it('also ends what the process has started', async () => {
    const script = `const { pid } = require('child_process').spawn('sleep', ['60']); console.log(pid); ${forever}`;
    await using parent = await node(script);
    const grandchild = await parent.waitForLine((line) => Number(line), 60_000);
    expect(isRunning(grandchild)).toBe(true);
    await parent.kill();
    await expect.poll(() => isRunning(grandchild), { timeout: 60_000 }).toBe(false);
  });
});

it('a command that does not exist is an error', async () => {
  await expect(startProcess({ name: 'x', command: 'no-such-command' })).rejects.toThrow(/ENOENT/);
});

it('keeps a bounded tail of endless output', async () => {
  await using child = await node(`setInterval(() => console.log('x'.repeat(10000)), 0)`);
  let lines = 0;
  child.stdout.onLine(() => {
    lines += 1;
  });
  await expect.poll(() => lines).toBeGreaterThan(50);
  expect(child.tail().length).toBeLessThan(testkitLimits.outputTailBytesMax.value + 20_000);
});

it('the environment contains no Syncline settings except those given', async () => {
  process.env['SYNCLINE_NODE_ID'] = '9';
  await using child = await startProcess({
    name: 'child',
    command: process.execPath,
    args: ['-e', 'console.log(JSON.stringify(process.env))'],
    env: { SYNCLINE_HTTP_PORT: '0' },
  });
  delete process.env['SYNCLINE_NODE_ID'];
  const env = await child.waitForLine((line) => JSON.parse(line), 60_000);
  expect(env).toMatchObject({ SYNCLINE_HTTP_PORT: '0', NO_COLOR: '1' });
  expect(env).not.toHaveProperty('SYNCLINE_NODE_ID');
});

it('a child and its directory are removed when its parent is killed', async () => {
  await using directory = await makeTempDirectory('guarded');
  const program = join(import.meta.dirname, '../../dist/children/process-parent.js');
  const parent = spawn(process.execPath, [program, directory.path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = await once(parent.stdout, 'data');
  const child = Number(String(output));
  expect(isRunning(child)).toBe(true);
  parent.kill('SIGKILL');
  await expect.poll(() => isRunning(child), { timeout: 60_000 }).toBe(false);
  await expect
    .poll(() =>
      access(directory.path).then(
        () => true,
        () => false,
      ),
    )
    .toBe(false);
});
