// The tags of a job and their numbers. A number is given at the first write of a tag and stays.

export class TagDictionary {
  readonly #names: (string | undefined)[] = [];
  readonly #numbers = new Map<string, number>();

  /** The number of the next new tag: also behind those whose names are damaged. */
  get nextNumber(): number {
    return this.#names.length;
  }

  numberOf(tag: string): number | undefined {
    return this.#numbers.get(tag);
  }

  nameOf(tagNo: number): string | undefined {
    return this.#names[tagNo];
  }

  /** Without a name: it is damaged, and its number must not be given again. */
  set(tagNo: number, tag: string | undefined): void {
    while (this.#names.length <= tagNo) this.#names.push(undefined);
    this.#names[tagNo] = tag;
    if (tag !== undefined) this.#numbers.set(tag, tagNo);
  }

  /** Of all tags that can be read. */
  names(): readonly string[] {
    return [...this.#numbers.keys()];
  }
}
