// Loaded into a server by `node --import`: its wall clock can be stepped. SIGUSR2 moves it on to the next of the
// offsets in JOBS_CLOCK_STEPS, in ms; the monotonic clock goes on as it was.
const stepsMs = (process.env.JOBS_CLOCK_STEPS ?? '').split(',').map(Number);
const nowMs = Date.now;
let offsetMs = 0;

Date.now = () => nowMs() + offsetMs;
process.on('SIGUSR2', () => {
  offsetMs = stepsMs.shift() ?? 0;
});
