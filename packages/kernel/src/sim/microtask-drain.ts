// The one place where a simulation touches the real event loop.
//
// Between two simulated events every promise that can continue must have done so. One turn of the real loop
// guarantees that, and it is also when Node reports an unhandled rejection. In production such a rejection ends the
// process, so here it must not be overlooked. No time is measured: however long the turn takes, the simulated clock
// does not advance.

/** Runs `step` until it returns false. Between two steps all microtasks have run. */
export function runStepsDrained(step: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const turn = () => {
      try {
        if (step()) setImmediate(turn);
        else resolve();
      } catch (error) {
        reject(error);
      }
    };
    setImmediate(turn);
  });
}
