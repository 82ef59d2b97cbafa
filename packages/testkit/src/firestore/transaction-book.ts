// Which transaction has read what, and what has changed since: the isolation that the emulator lacks.
//
// Firestore promises that a transaction commits only if nothing that it read has changed. The book counts
// commits; it records for each transaction the count at which it read a document or a collection, and for each
// document and collection the count of its last change.

export class TransactionBook {
  readonly #reads = new Map<string, Map<string, number>>();
  readonly #changedAt = new Map<string, number>();
  #commitsCount = 0;
  #transactionsCount = 0;

  get commitsCount(): number {
    return this.#commitsCount;
  }

  begin(): Uint8Array {
    this.#transactionsCount += 1;
    const id = Buffer.from(`transaction-${this.#transactionsCount}`);
    this.#reads.set(id.toString('hex'), new Map());
    return id;
  }

  /** `path` is that of a document, or of a collection that was queried. An empty id is no transaction. */
  noteRead(id: Uint8Array, path: string): void {
    const reads = this.#reads.get(hexOf(id));
    if (reads && !reads.has(path)) reads.set(path, this.#commitsCount);
  }

  /** It has ended or never existed. */
  isExpired(id: Uint8Array): boolean {
    return id.length > 0 && !this.#reads.has(hexOf(id));
  }

  /** Whether something that the transaction read has changed since. */
  isOutdated(id: Uint8Array): boolean {
    const reads = this.#reads.get(hexOf(id)) ?? [];
    return [...reads].some(([path, readAt]) => this.changedAt(path) > readAt);
  }

  noteCommit(documentPaths: readonly string[]): void {
    this.#commitsCount += 1;
    for (const path of documentPaths) {
      this.#changedAt.set(path, this.#commitsCount);
      this.#changedAt.set(collectionOf(path), this.#commitsCount);
    }
  }

  end(id: Uint8Array): void {
    this.#reads.delete(hexOf(id));
  }

  /** The number of the last commit that changed the document or something in the collection; 0: none. */
  changedAt(path: string): number {
    return this.#changedAt.get(path) ?? 0;
  }
}

function collectionOf(documentPath: string): string {
  return documentPath.slice(0, documentPath.lastIndexOf('/'));
}

function hexOf(id: Uint8Array): string {
  return Buffer.from(id).toString('hex');
}
