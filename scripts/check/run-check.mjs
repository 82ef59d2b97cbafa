// Runs one check and reports it in one line, or with its full output if it fails.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { endOf } from '../bootstrap/end-of.mjs';
import { root } from '../bootstrap/root.mjs';
import { say, secondsSince } from '../bootstrap/say.mjs';

/**
 * @param {import('./checks.mjs').Check} check
 * @returns {Promise<boolean>} Whether it passed.
 */
export async function runCheck(check) {
  const startMs = performance.now();
  const program = join(root, 'node_modules', check.program);
  const child = spawn(process.execPath, [program, ...check.args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  /** @type {string[]} */
  const output = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (/** @type {string} */ text) => output.push(text));
  }
  const { code } = await endOf(child);
  const passed = code === 0;
  say(`${passed ? 'ok    ' : 'FAILED'}  ${check.name.padEnd(10)} ${secondsSince(startMs)}`);
  if (!passed) say(output.join('').trimEnd());
  return passed;
}
