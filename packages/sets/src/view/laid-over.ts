// What is stored, with what memory knows laid over it. Both come by position and then by bytes, and so does
// what they give together. Where memory knows an entry, present or absent, memory is right: it is never older.

/** What memory says of a member, or of the name of a set. */
export interface KnownEntry {
  readonly bytes: Uint8Array;
  readonly position: number;
  readonly isPresent: boolean;
}

export type Batches = AsyncIterable<readonly Uint8Array[]>;

export async function* laidOver(
  stored: Batches,
  known: readonly KnownEntry[],
  positionOf: (bytes: Uint8Array) => number,
): AsyncGenerator<readonly Uint8Array[]> {
  let next = 0;
  for await (const batch of stored) {
    const merged: Uint8Array[] = [];
    for (const bytes of batch) {
      const position = positionOf(bytes);
      let order = -1;
      for (; next < known.length; next += 1) {
        const entry = known[next] as KnownEntry;
        order = entry.position - position || Buffer.compare(entry.bytes, bytes);
        if (order > 0) break;
        if (entry.isPresent) merged.push(entry.bytes);
        if (order === 0) break;
      }
      if (order === 0) next += 1;
      else merged.push(bytes);
    }
    yield merged;
  }
  const rest = known.slice(next).filter(({ isPresent }) => isPresent);
  if (rest.length > 0) yield rest.map(({ bytes }) => bytes);
}
