// Reads the records of loop-probe.mjs: how long the event loop of a server was blocked.
//
// SETS_FIGURES=1 prints what was measured.
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const PROBE = fileURLToPath(new URL('loop-probe.mjs', import.meta.url));

export class LoopWatch {
  /** Options for the process to be watched. */
  readonly env: Readonly<Record<string, string>>;
  readonly #notes: string;

  /** `notes` is a file that the probe writes. */
  constructor(notes: string) {
    this.#notes = notes;
    this.env = { NODE_OPTIONS: `--import=${PROBE}`, LOOP_PROBE_FILE: notes };
  }

  /** Processor time of the longest turn of the event loop in this period; 0 if none was recorded. */
  async longestMs(what: string, work: () => Promise<unknown>): Promise<number> {
    await rm(this.#notes, { force: true });
    const startMs = performance.now();
    await work();
    const text = existsSync(this.#notes) ? await readFile(this.#notes, 'utf8') : '';
    const longestMs = Math.max(0, ...text.split('\n').map(Number));
    if (process.env['SETS_FIGURES'] === '1') {
      const ms = (performance.now() - startMs).toFixed(0);
      process.stderr.write(`${what}: ${ms} ms, longest turn ${longestMs} ms\n`);
    }
    return longestMs;
  }
}
