// Logs one line when the connection to the shared state changes, and none for each attempt in between: a
// service that is down for a night is two lines, with the number of attempts in the second.
import type { Logger, SynclineError } from '@syncline/kernel';

type Condition = 'connected' | 'lost' | 'refused' | 'closed';

export class ConnectionLog {
  readonly #logger: Logger;
  #condition: Condition | undefined;
  #attempts = 0;
  #hasReportedSkew = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** A stream is opened. Returns whether one was opened before. */
  attempt(): boolean {
    const isAgain = this.#condition !== undefined || this.#attempts > 0;
    this.#attempts += 1;
    return isAgain;
  }

  connected(status: { readonly epoch: number; readonly activeInstances: number }): void {
    const { epoch, activeInstances } = status;
    const attempts = this.#attempts;
    this.#attempts = 0;
    const isBack = this.#condition === 'lost' || this.#condition === 'refused';
    if (!this.#enter('connected')) return;
    const fields = { epoch, activeInstances, attempts };
    // The end of an outage is logged at the same level as its start.
    if (isBack) this.#logger.warn('connection to the fair state service restored', fields);
    else this.#logger.info('connected to the fair state service', fields);
  }

  lost(why: string, error: SynclineError | undefined): void {
    if (!this.#enter('lost')) return;
    this.#logger.warn('fair state service unreachable; this instance decides on its own', {
      why,
      ...(error && { code: error.code, error: error.message }),
    });
  }

  refused(error: SynclineError | undefined): void {
    if (!this.#enter('refused') || error === undefined) return;
    const { code, message, details } = error;
    this.#logger.error(
      'fair state service refused this configuration; this instance decides on its own',
      { code, error: message, field: details['field'] },
    );
  }

  closed(): void {
    if (this.#enter('closed')) this.#logger.info('disconnected from the fair state service');
  }

  /** At most once: otherwise every reconnect would repeat it. */
  skewed(skewMs: number): void {
    if (this.#hasReportedSkew) return;
    this.#hasReportedSkew = true;
    this.#logger.warn('large clock difference to the fair state service', { skewMs });
  }

  #enter(condition: Condition): boolean {
    const isChange = this.#condition !== condition;
    this.#condition = condition;
    return isChange;
  }
}
