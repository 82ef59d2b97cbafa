// Loaded into a server by `node --import`: records every long turn of its event loop.
//
// A turn is measured by the processor time of the main thread, as Linux counts it, not by the clock: on a busy
// machine a thread may wait for long without doing anything. A timer checks each millisecond, so a recorded turn
// includes at most that much of its neighbors. It starts when the server begins to listen for signals: by then the
// program is loaded, and nothing is opened yet.
import { appendFileSync, openSync, readSync } from 'node:fs';

const file = process.env.LOOP_PROBE_FILE;
const heldMsMin = 5;

if (file !== undefined) {
  process.on('newListener', function begin(event) {
    if (event !== 'SIGTERM') return;
    process.off('newListener', begin);
    watchLoop(file);
  });
}

/** @param {string} notes */
function watchLoop(notes) {
  const times = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  const text = Buffer.alloc(128);
  const processorMs = () => {
    readSync(times, text, 0, text.length, 0);
    return Number(text.toString('latin1', 0, text.indexOf(' '))) / 1e6;
  };
  let lastMs = processorMs();
  const look = () => {
    const heldMs = processorMs() - lastMs;
    if (heldMs >= heldMsMin) appendFileSync(notes, `${heldMs.toFixed(1)}\n`);
    lastMs = processorMs();
    setTimeout(look, 1).unref();
  };
  look();
}
