// The streams that stand, so that a server that stops ends them all at once. A signal with thousands of listeners
// would be slow to add to, and Node warns of it.

export class OpenStreams {
  readonly #ends = new Set<() => void>();
  readonly #draining: AbortSignal;

  constructor({ draining }: { readonly draining: AbortSignal }) {
    this.#draining = draining;
    draining.addEventListener('abort', () => this.#endAll(), { once: true });
  }

  get isDraining(): boolean {
    return this.#draining.aborted;
  }

  /** `end` is called once, when the server begins to stop. */
  add(end: () => void): void {
    this.#ends.add(end);
  }

  delete(end: () => void): void {
    this.#ends.delete(end);
  }

  #endAll(): void {
    for (const end of this.#ends) end();
  }
}
