// The job of the jobs benches: 10,000 tasks with 10 tags each, and what is written into its cells.
//
// Writes walk through all cells in the same order in each run, and each write goes to a different task and tag than
// the one before.
export const TASKS = 10_000;
export const TAGS: readonly string[] = Array.from({ length: 10 }, (_, index) => `tag-${index}`);
export const CELLS = TASKS * TAGS.length;

/** Has no factor in common with the number of cells, so a walk visits each of them once. */
const STRIDE = 7_919;
const STEPS = 20;

export interface CellWrite {
  readonly taskId: number;
  readonly tag: string;
  readonly status: number;
  readonly message: string;
}

/** The write at a position of the walk. `tasks` limits the job to its first ones. */
export function cellWriteAt(index: number, tasks: number = TASKS): CellWrite {
  const cell = (index * STRIDE) % (tasks * TAGS.length);
  const status = 1 + (Math.floor(index / CELLS) % STEPS);
  return {
    taskId: Math.floor(cell / TAGS.length),
    tag: TAGS[cell % TAGS.length] ?? '',
    status,
    message: `step ${status} of ${STEPS}, part ${index}`,
  };
}

/** Calls a function for 0 to count − 1, with limited concurrency. */
export async function inParallel(
  { count, atOnce }: { readonly count: number; readonly atOnce: number },
  act: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) {
      next += 1;
      await act(next - 1);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, lane));
}
