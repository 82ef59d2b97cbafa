// One page of a scan: what a cursor gives, and the position that the next cursor stands for.
//
// COUNT is how many are looked at, not how many match. Large members end a page early, so that it fits into
// memory. Members of equal position are never parted: a cursor could not tell them apart.
import type { KeyspacePage } from '../keyspace.js';
import { setsLimits } from '../limits.js';
import type { Reply } from '../resp/reply.js';
import { ByteCollector } from './byte-collector.js';
import type { ScanOptions } from './scan-options.js';

const PAGE_BYTES_MAX = setsLimits.turnBytesMax.value;

export class ScanPageBuilder {
  readonly #options: ScanOptions;
  readonly #matching = new ByteCollector();
  #seen = 0;
  #seenBytes = 0;

  constructor(options: ScanOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    const { count, glob } = this.#options;
    const isTired = glob?.meter.isTired ?? false;
    return this.#seen >= count || this.#seenBytes >= PAGE_BYTES_MAX || isTired;
  }

  /** How many more may be looked at. */
  get left(): number {
    return this.#options.count - this.#seen;
  }

  see(buffer: Uint8Array, start: number, end: number): void {
    this.#seen += 1;
    this.#seenBytes += end - start;
    const { glob, isOtherType } = this.#options;
    if (isOtherType) return;
    if (glob === undefined || glob.matches(buffer, start, end))
      this.#matching.push(buffer, start, end);
  }

  /** `next` is 0 at the end. */
  writeTo(reply: Reply, next: number): void {
    const { list } = this.#matching;
    reply.array(2);
    reply.bulkText(String(next));
    reply.array(list.length);
    for (let index = 0; index < list.length; index += 1) reply.bulkOf(list, index);
  }
}

/** Fills a page as far as the part of the keyspace goes; gives the position behind it. */
export async function fillPage(page: ScanPageBuilder, part: KeyspacePage): Promise<number> {
  let lastPosition = -1;
  for await (const batch of part.batches) {
    for (const member of batch) {
      const position = part.positionOf(member);
      if (page.isFull && position !== lastPosition) return position;
      page.see(member, 0, member.length);
      lastPosition = position;
    }
  }
  return part.next;
}

export function writeEmptyPage(reply: Reply): void {
  reply.array(2);
  reply.bulkText('0');
  reply.array(0);
}
