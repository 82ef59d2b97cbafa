// Subscribers in a separate process, which is started, queried and frozen from here.
import { setTimeout as afterMs } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Overflow } from '@syncline/jobs';
import { startProcess } from '@syncline/testkit';
import type { Audience } from './jobs-scopes.js';

export interface ListenerSetup {
  readonly server:
    | { readonly kind: 'syncline'; readonly address: string }
    | { readonly kind: 'redis'; readonly port: number };
  readonly jobId: string;
  readonly audience: Audience;
  readonly overflow?: Overflow;
}

/** Of all its subscribers, since the last `restart`. */
export interface ListenerReport {
  readonly number: number;
  readonly eventsCount: number;
  readonly gapsCount: number;
  /** The revision up to which even the slowest subscriber has everything. */
  readonly lowestRevision: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Listeners extends AsyncDisposable {
  readonly pid: number;
  /** Starts counting from 0 again. */
  restart(): void;
  report(): Promise<ListenerReport>;
  /** Polls until the condition holds. Throws with the last report. */
  untilReport(
    isWanted: (report: ListenerReport) => boolean,
    timeoutMs: number,
  ): Promise<ListenerReport>;
  freeze(): void;
  thaw(): void;
}

const PROGRAM = fileURLToPath(new URL('./jobs-listener.js', import.meta.url));
const OPEN_TIMEOUT_MS = 300_000;
const REPORT_TIMEOUT_MS = 60_000;
const ASK_INTERVAL_MS = 20;

export async function startListeners(setup: ListenerSetup): Promise<Listeners> {
  const child = await startProcess({
    name: 'listeners',
    command: process.execPath,
    args: [PROGRAM, JSON.stringify(setup)],
  });
  await child.waitForLine((line) => (line === 'open' ? true : undefined), OPEN_TIMEOUT_MS);
  let reportsCount = 0;
  const report = () => {
    reportsCount += 1;
    const number = reportsCount;
    child.signal('SIGUSR2');
    return child.waitForLine((line) => reportIn(line, number), REPORT_TIMEOUT_MS);
  };
  return {
    pid: child.pid,
    report,
    restart: () => child.signal('SIGHUP'),
    async untilReport(isWanted, timeoutMs) {
      const deadlineMs = performance.now() + timeoutMs;
      for (;;) {
        const last = await report();
        if (isWanted(last)) return last;
        if (performance.now() > deadlineMs)
          throw new Error(`subscribers did not reach the expected state: ${JSON.stringify(last)}`);
        await afterMs(ASK_INTERVAL_MS);
      }
    },
    freeze: () => child.signal('SIGSTOP'),
    thaw: () => child.signal('SIGCONT'),
    async [Symbol.asyncDispose]() {
      await child.kill();
    },
  };
}

function reportIn(line: string, number: number): ListenerReport | undefined {
  if (!line.startsWith('{')) return undefined;
  const report = JSON.parse(line) as ListenerReport;
  return report.number === number ? report : undefined;
}
