// Preloaded into a server: records how long the event loop was blocked, one line per quarter of a second.
import { appendFile } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 1;
const NOTE_INTERVAL_MS = 250;

const { BENCH_STALL_FILE: file } = process.env;
if (file !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  setInterval(() => {
    const stallMs = Math.max(0, delay.max / 1e6 - RESOLUTION_MS);
    delay.reset();
    void appendFile(file, `${stallMs.toFixed(2)}\n`);
  }, NOTE_INTERVAL_MS).unref();
}
