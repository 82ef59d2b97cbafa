// Counts of cells per class, while they are being counted.
import type { Counts } from '../progress.js';
import { type StatusClass, statusClass } from '../status.js';

export class ClassCounts {
  notStarted = 0;
  running = 0;
  finished = 0;
  warned = 0;
  failed = 0;

  add(status: number, amount = 1): void {
    this[FIELDS[statusClass(status)]] += amount;
  }

  addAll(other: ClassCounts): void {
    this.notStarted += other.notStarted;
    this.running += other.running;
    this.finished += other.finished;
    this.warned += other.warned;
    this.failed += other.failed;
  }

  toCounts(): Counts {
    const { notStarted, running, finished, warned, failed } = this;
    const total = notStarted + running + finished + warned + failed;
    return { notStarted, running, finished, warned, failed, total };
  }
}

const FIELDS = {
  'not-started': 'notStarted',
  running: 'running',
  finished: 'finished',
  warned: 'warned',
  failed: 'failed',
} as const satisfies Record<StatusClass, keyof Counts>;
