// Messages. They go to standard error, because standard output belongs to data: the
// listeners of `npm start`, the last line of `npm test`.

/** @param {string} message */
export function say(message) {
  process.stderr.write(`${message}\n`);
}

/** @param {number} startMs A reading of `performance.now()`. */
export function secondsSince(startMs) {
  return `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
}
