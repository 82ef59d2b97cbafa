// Runs one program of the bootstrap: silent when it is quick, one line when it takes a while, and
// the end of its output when it fails. The whole output is kept in `.cache/<name>.log`.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { endOf } from './end-of.mjs';
import { cacheDirectory, root } from './root.mjs';
import { say, secondsSince } from './say.mjs';

const logLinesShown = 20;
const stillRunningEveryMs = 20_000;

/** A failure that the user can fix: it is printed without a stack. */
export class StepError extends Error {}

/**
 * @typedef {object} Step
 * @property {string} name Names the log file.
 * @property {string} title What is going on, for people.
 * @property {string} command
 * @property {readonly string[]} args
 * @property {number} [silentMs] A step that ends earlier says nothing. Default 0: it always speaks.
 * @property {string} hint What to try when it fails.
 */

/** @param {Step} step */
export async function runStep(step) {
  const startMs = performance.now();
  const fallSilent = announce(step, startMs);
  try {
    await runLogged(step);
    if (fallSilent()) say(`  done in ${secondsSince(startMs)}`);
  } finally {
    fallSilent();
  }
}

/**
 * Prints the title once the step has been running for `silentMs`, and then periodically that it is still
 * running. Returns a function that stops this and returns whether anything was printed.
 *
 * @param {Step} step
 * @param {number} startMs
 */
function announce(step, startMs) {
  let spoke = false;
  const speak = () => {
    spoke = true;
    say(step.title);
  };
  const silentMs = step.silentMs ?? 0;
  if (silentMs === 0) speak();
  const first = setTimeout(() => spoke || speak(), silentMs);
  const again = setInterval(
    () => say(`  still running after ${secondsSince(startMs)}`),
    stillRunningEveryMs,
  );
  return () => {
    clearTimeout(first);
    clearInterval(again);
    return spoke;
  };
}

/** @param {Step} step */
async function runLogged(step) {
  mkdirSync(cacheDirectory, { recursive: true });
  const logPath = join(cacheDirectory, `${step.name}.log`);
  const log = openSync(logPath, 'w');
  const child = spawn(step.command, step.args, { cwd: root, stdio: ['ignore', log, log] });
  closeSync(log);
  const letGo = stopWithUs(child);
  try {
    const { code, signal } = await endOf(child);
    if (code !== 0) throw failure(step, `ended with ${signal ?? `exit code ${code}`}`, logPath);
  } catch (error) {
    if (error instanceof StepError) throw error;
    throw new StepError(`cannot run ${step.command} (${messageOf(error)}). ${step.hint}`);
  } finally {
    letGo();
  }
}

/**
 * @param {Step} step
 * @param {string} what
 * @param {string} logPath
 */
function failure(step, what, logPath) {
  const lines = readFileSync(logPath, 'utf8').trimEnd().split('\n').slice(-logLinesShown);
  const command = [step.command, ...step.args].join(' ');
  return new StepError(
    `${lines.map((line) => `  | ${line}`).join('\n')}\n"${command}" ${what}. ${step.hint} The full output is in ${relative(root, logPath)}.`,
  );
}

/**
 * A signal to this process only (a supervisor's SIGTERM) must not leave the program running.
 *
 * @param {import('node:child_process').ChildProcess} child
 */
function stopWithUs(child) {
  /** @param {NodeJS.Signals} signal */
  const stop = (signal) => {
    child.kill(signal);
    process.exit(1);
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  return () => process.off('SIGINT', stop).off('SIGTERM', stop);
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
