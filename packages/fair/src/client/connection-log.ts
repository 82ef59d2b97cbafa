// One line when the connection to the shared state changes, and none for each attempt between: a service
// that is away for a night is two lines, with the number of attempts in the second.
import type { Logger, SynclineError } from '@syncline/kernel';

type Condition = 'connected' | 'lost' | 'refused' | 'closed';

export class ConnectionLog {
  readonly #logger: Logger;
  #condition: Condition | undefined;
  #attempts = 0;
  #hasToldSkew = false;

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
    // Whoever saw the warning of the loss must see its end.
    if (isBack) this.#logger.warn('fair throttling shares its state again', fields);
    else this.#logger.info('fair throttling shares its state', fields);
  }

  lost(why: string, error: SynclineError | undefined): void {
    if (!this.#enter('lost')) return;
    this.#logger.warn('the fair state service is out of reach; this instance decides alone', {
      why,
      ...(error && { code: error.code, error: error.message }),
    });
  }

  refused(error: SynclineError | undefined): void {
    if (!this.#enter('refused') || error === undefined) return;
    const { code, message, details } = error;
    this.#logger.error(
      'the fair state service refuses this configuration; this instance decides alone',
      { code, error: message, field: details['field'] },
    );
  }

  closed(): void {
    if (this.#enter('closed')) this.#logger.info('fair throttling stopped sharing its state');
  }

  /** At most once: whoever reconnects often would tell it as often. */
  skewed(skewMs: number): void {
    if (this.#hasToldSkew) return;
    this.#hasToldSkew = true;
    this.#logger.warn('the clock of the fair state service differs much from ours', { skewMs });
  }

  #enter(condition: Condition): boolean {
    const isChange = this.#condition !== condition;
    this.#condition = condition;
    return isChange;
  }
}
