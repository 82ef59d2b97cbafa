// Runs one check and reports it in one line, or with all that it printed when it fails.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
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
  child.stdout.setEncoding('utf8').on('data', (text) => output.push(text));
  child.stderr.setEncoding('utf8').on('data', (text) => output.push(text));
  const [code] = await once(child, 'close');
  const passed = code === 0;
  say(`${passed ? 'ok    ' : 'FAILED'}  ${check.name.padEnd(10)} ${secondsSince(startMs)}`);
  if (!passed) say(output.join('').trimEnd());
  return passed;
}
