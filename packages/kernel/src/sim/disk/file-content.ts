// The bytes of a simulated file: what processes see, and page by page what is durable.
//
// The operating system writes pages back in any order. Until a sync has completed, a power loss keeps any subset of
// the changed pages, and the file's length may be any between those it had. A lost page reads as it was at the last
// sync, or as zeros where the file was shorter. A sync covers what was written before it began, so that code that
// counts later writes as durable is caught.
//
// K86  After a power loss every page is as it was at the last sync, or as it was last written.

export const PAGE_BYTES = 4096;

interface ChangedPage {
  /** Content at the last completed sync; short where the file ended, empty if it ended before. */
  synced: Uint8Array;
  /** Number of the latest change of this page. */
  changedAt: number;
}

/** What a sync will have made durable once it completes. */
export interface BegunSync {
  readonly change: number;
  readonly length: number;
  readonly pages: ReadonlyMap<number, Uint8Array>;
}

/** Decides what is left of the unsynced changes of one file. */
export interface ContentLoss {
  survivesPage(page: number): boolean;
  /** How many of the uncertain bytes of the length are left. */
  survivingBytes(uncertainBytes: number): number;
}

export class FileContent {
  /** Zeros beyond the length. */
  #bytes = new Uint8Array(0);
  #length = 0;
  #syncedLength = 0;
  #syncedChange = 0;
  #changesCount = 0;
  readonly #changedPages = new Map<number, ChangedPage>();
  /** Cuts that are not durable, oldest first. */
  #cuts: { readonly change: number; readonly before: number; readonly after: number }[] = [];

  get length(): number {
    return this.#length;
  }

  slice(offset: number, end: number): Uint8Array {
    return this.#bytes.slice(Math.min(offset, this.#length), Math.min(end, this.#length));
  }

  append(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const length = this.#length + bytes.length;
    this.#change(this.#length, length);
    if (length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(length, this.#bytes.length * 2));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    this.#bytes.set(bytes, this.#length);
    this.#length = length;
  }

  truncate(length: number): void {
    if (length >= this.#length) return;
    this.#change(length, this.#length);
    this.#bytes.fill(0, length, this.#length);
    this.#cuts.push({ change: this.#changesCount, before: this.#length, after: length });
    this.#length = length;
  }

  beginSync(): BegunSync {
    const pages = new Map<number, Uint8Array>();
    for (const page of this.#changedPages.keys()) pages.set(page, this.#page(page));
    return { change: this.#changesCount, length: this.#length, pages };
  }

  completeSync(begun: BegunSync): void {
    if (begun.change < this.#syncedChange) return; // a later sync has completed before
    for (const [page, synced] of begun.pages) {
      const changed = this.#changedPages.get(page);
      if (changed === undefined) continue;
      if (changed.changedAt <= begun.change) this.#changedPages.delete(page);
      else changed.synced = synced;
    }
    this.#syncedLength = begun.length;
    this.#syncedChange = begun.change;
    this.#cuts = this.#cuts.filter(({ change }) => change > begun.change);
  }

  /** Drops a part of what was not synced; what is left counts as synced. */
  lose(loss: ContentLoss): void {
    const cutLengths = this.#cuts.flatMap(({ before, after }) => [before, after]);
    const lengths = [this.#syncedLength, this.#length, ...cutLengths];
    const lengthMin = Math.min(...lengths);
    const uncertainBytes = Math.max(...lengths) - lengthMin;
    if (uncertainBytes === 0 && this.#changedPages.size === 0) return;
    const left = new Uint8Array(lengthMin + loss.survivingBytes(uncertainBytes));
    for (let offset = 0; offset < left.length; offset += PAGE_BYTES) {
      const page = offset / PAGE_BYTES;
      const changed = this.#changedPages.get(page);
      const isLost = changed !== undefined && !loss.survivesPage(page);
      const bytes = isLost ? changed.synced : this.#page(page);
      left.set(bytes.subarray(0, left.length - offset), offset);
    }
    this.#bytes = left;
    this.#length = left.length;
    this.completeSync(this.beginSync());
  }

  #page(page: number): Uint8Array {
    return this.slice(page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
  }

  /** Keeps the synced content of the pages that are about to change. */
  #change(from: number, to: number): void {
    this.#changesCount += 1;
    const changedAt = this.#changesCount;
    for (let page = Math.floor(from / PAGE_BYTES); page * PAGE_BYTES < to; page += 1) {
      const changed = this.#changedPages.get(page);
      if (changed === undefined) {
        this.#changedPages.set(page, { synced: this.#page(page), changedAt });
      } else changed.changedAt = changedAt;
    }
  }
}
