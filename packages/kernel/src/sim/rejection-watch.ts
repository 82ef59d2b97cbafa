// Notices unhandled promise rejections. In production such a rejection ends the process, so in a simulation it
// fails the run, unless the process ended first.
import { isProcessEnd } from './process-life.js';

export class RejectionWatch implements Disposable {
  readonly reasons: unknown[] = [];
  readonly #onRejection = (reason: unknown): void => {
    if (!isProcessEnd(reason)) this.reasons.push(reason);
  };

  constructor() {
    process.on('unhandledRejection', this.#onRejection);
  }

  [Symbol.dispose](): void {
    process.off('unhandledRejection', this.#onRejection);
  }
}
