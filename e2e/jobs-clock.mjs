// Loaded into a server by `node --import`: its wall clock can be stepped. SIGUSR2 advances it to the next of the
// offsets in JOBS_CLOCK_STEPS, in ms; the monotonic clock is not affected.
const stepsMs = (process.env.JOBS_CLOCK_STEPS ?? '').split(',').map(Number);
const nowMs = Date.now;
let offsetMs = 0;

Date.now = () => nowMs() + offsetMs;
process.on('SIGUSR2', () => {
  offsetMs = stepsMs.shift() ?? 0;
});
