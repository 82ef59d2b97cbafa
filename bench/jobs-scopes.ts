// The subscribers of the benchmark job: some subscribe to all of it, some to a tag, most to a task.
import { cellWriteAt, TAGS, TASKS } from './jobs-cells.js';

export interface Audience {
  readonly whole: number;
  readonly tag: number;
  readonly task: number;
}

export type ListenedScope = Readonly<{ taskId?: number; tag?: string }>;

export function scopesOf({ whole, tag, task }: Audience): readonly ListenedScope[] {
  return [
    ...Array.from({ length: whole }, () => ({})),
    ...Array.from({ length: tag }, (_, index) => ({ tag: TAGS[index % TAGS.length] ?? '' })),
    ...Array.from({ length: task }, (_, index) => ({ taskId: taskAt(index) })),
  ];
}

/** Spread over all tasks. */
function taskAt(index: number): number {
  return (index * 11) % TASKS;
}

/** How many events the subscribers receive for the writes from `start` to `end` − 1 of the walk. */
export function eventsOf(audience: Audience, start: number, end: number): number {
  const listenersOf = countBy(scopesOf(audience), ({ taskId, tag }) => `${taskId}/${tag}`);
  let count = 0;
  for (let index = start; index < end; index += 1) {
    const { taskId, tag } = cellWriteAt(index);
    count += listenersOf.get('undefined/undefined') ?? 0;
    count += listenersOf.get(`undefined/${tag}`) ?? 0;
    count += listenersOf.get(`${taskId}/undefined`) ?? 0;
  }
  return count;
}

function countBy<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(keyOf(value), (counts.get(keyOf(value)) ?? 0) + 1);
  return counts;
}
