// A job as the page stores it: a byte per cell, changed in place by deltas, so that a hundred thousand cells with a
// thousand changes a second cost neither copies nor garbage.
import type { DataBuilder } from './live.js';
import type { JobHistory } from './timeline.js';
import type { JobInfoData } from './view-data.js';

export interface GridChange {
  readonly task: number;
  readonly tag: string;
  readonly status: number;
  readonly class: number;
  readonly message: string;
  readonly version: number;
  readonly revision: number;
  readonly timestampMs: number;
}

interface JobHead {
  readonly revision: number;
  readonly isSynced: boolean;
  readonly isDeleted: boolean;
  readonly staleSinceMs?: number;
  readonly deletedAtMs?: number;
  readonly lostTasks: number;
  readonly heldTasks: number;
  readonly changesPerSecond: number;
  readonly tags: readonly {
    readonly tag: string;
    readonly counts: readonly number[];
    /** The sum of the progress of its unfinished cells, each from 0 to 1. */
    readonly partly: number;
  }[];
}

export interface JobData extends JobHead {
  readonly job: JobInfoData;
  readonly hiddenTags: number;
  /** A class per task, by tag. Changed in place. */
  readonly cells: ReadonlyMap<string, Uint8Array>;
  /** The newest last. */
  readonly recent: readonly GridChange[];
  readonly history: JobHistory;
}

type JobWhole = JobHead & Pick<JobData, 'job' | 'hiddenTags' | 'recent' | 'history'>;
type JobDelta = JobHead & {
  readonly changes: readonly { readonly tag: string; readonly cells: readonly number[] }[];
  readonly recent: readonly GridChange[];
};

const RECENT_MAX = 200;
const HISTORY_MAX = 300;
const HISTORY_INTERVAL_MS = 1_000;

export const jobDataBuilder: DataBuilder<unknown> = {
  whole([first, ...pieces], serverAtMs) {
    const head = first as JobWhole;
    const cells = new Map(head.tags.map(({ tag }) => [tag, new Uint8Array(head.job.numTasks)]));
    for (const piece of pieces) {
      if (piece === null) continue;
      const {
        tag,
        from,
        cells: text,
      } = piece as { readonly tag: string; readonly from: number; readonly cells: string };
      cells.get(tag)?.set(bytesOf(text), from);
    }
    return { ...head, cells, history: extended(head.history, head, serverAtMs) } satisfies JobData;
  },
  delta(before, given, serverAtMs) {
    const data = before as JobData;
    const { changes, recent, ...head } = given as JobDelta;
    for (const { tag, cells } of changes) {
      const column = data.cells.get(tag);
      if (column === undefined) continue;
      for (let at = 0; at < cells.length; at += 2) column[cells[at] ?? 0] = cells[at + 1] ?? 0;
    }
    return {
      ...data,
      ...head,
      recent: recent.length === 0 ? data.recent : [...data.recent, ...recent].slice(-RECENT_MAX),
      history: extended(data.history, head, serverAtMs),
    } satisfies JobData;
  },
};

/** The number of cells of each class. */
export function totalsOf({ tags }: Pick<JobHead, 'tags'>): readonly number[] {
  return [0, 1, 2, 3, 4].map((at) => tags.reduce((sum, { counts }) => sum + (counts[at] ?? 0), 0));
}

function extended(history: JobHistory, head: JobHead, nowMs: number): JobHistory {
  if (nowMs - (history.at(-1)?.[0] ?? 0) < HISTORY_INTERVAL_MS) return history;
  return [...history, [nowMs, ...totalsOf(head)]].slice(-HISTORY_MAX);
}

function bytesOf(base64: string): Uint8Array {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
}
