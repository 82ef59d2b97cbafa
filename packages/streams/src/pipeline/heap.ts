// A binary min-heap, for timers, windows and held-back items.

export class Heap<T> {
  readonly #compare: (left: T, right: T) => number;
  readonly #items: T[] = [];

  constructor(compare: (left: T, right: T) => number) {
    this.#compare = compare;
  }

  get length(): number {
    return this.#items.length;
  }

  get top(): T | undefined {
    return this.#items[0];
  }

  /** In no particular order. */
  get items(): readonly T[] {
    return this.#items;
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#compare(items[parent] as T, item) <= 0) break;
      items[at] = items[parent] as T;
      at = parent;
    }
    items[at] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      const right = child + 1;
      if (right < items.length && this.#compare(items[right] as T, items[child] as T) < 0) {
        child = right;
      }
      if (this.#compare(last, items[child] as T) <= 0) break;
      items[at] = items[child] as T;
      at = child;
    }
    items[at] = last;
    return top;
  }
}
