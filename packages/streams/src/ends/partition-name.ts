// How messages name partitions and records, in one form everywhere. Messages count records from 1, as people do.

export function partitionName(source: string, partition: string): string {
  return `partition "${partition}" of source "${source}"`;
}

/** `origin` is `source/partition`; a uid of a source has no slash. */
export function originName(origin: string): string {
  const slash = origin.indexOf('/');
  return partitionName(origin.slice(0, slash), origin.slice(slash + 1));
}

/** A record of a partition, or the timer from which an item descends. `round` is its number from 0, or its time. */
export function recordName(origin: string, round: number): string {
  if (!origin.includes('/')) return `the timer of ${round} ms`;
  return `record ${round + 1} of ${originName(origin)}`;
}
