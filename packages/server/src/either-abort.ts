// A signal that fires when either of two others does, one of which may live much longer.
//
// `AbortSignal.any` leaves a reference on each source as long as the source lives: one per stream on a
// server-wide signal is a leak. Here `release` removes the listeners.

export class EitherAbort {
  readonly #controller = new AbortController();
  readonly #sources: readonly AbortSignal[];

  constructor(...sources: readonly [AbortSignal, AbortSignal]) {
    this.#sources = sources;
    for (const source of sources) {
      if (source.aborted) this.#abort();
      else source.addEventListener('abort', this.#abort, { once: true });
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  release(): void {
    for (const source of this.#sources) source.removeEventListener('abort', this.#abort);
  }

  readonly #abort = (): void => this.#controller.abort();
}
