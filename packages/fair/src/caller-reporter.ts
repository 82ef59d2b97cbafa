// Reports the most throttled callers of one instance to a Syncline server, for `syncline fair top` and the dashboard.
//
// The state service sees cells and never a caller's key, so naming callers is a choice of each instance: only a program
// that starts a reporter sends them. Decisions never wait for it. One request is in flight, and a report that fails is
// dropped, because the next one follows soon.
import {
  type Clock,
  createHttpReports,
  createSystemClock,
  type HttpReportOptions,
  type OptionNames,
  refuseUnknownOptions,
} from '@syncline/kernel';
import type { FairTracker } from './fair-tracker.js';
import { fairLimits } from './limits.js';

export interface CallerReporterOptions extends HttpReportOptions {
  /** The name of the tracker, as in `grpcRemote({ tracker })`. */
  readonly tracker: string;
  /** Names this instance among those of its tracker; the host name, for example. */
  readonly instance: string;
  /** How often to report. Default 1,000; the server forgets an instance after 10 s. */
  readonly intervalMs?: number;
}

const OPTIONS: OptionNames<CallerReporterOptions> = {
  url: true,
  tracker: true,
  instance: true,
  token: true,
  tls: true,
  intervalMs: true,
  onError: true,
};

export interface CallerReporter {
  /** Stops reporting. Does not close the tracker. */
  close(): void;
}

/** Starts reporting immediately, and does not keep the process alive. */
export function startCallerReporter(
  tracker: FairTracker,
  options: CallerReporterOptions,
  deps: { readonly clock?: Clock } = {},
): CallerReporter {
  const { clock = createSystemClock() } = deps;
  refuseUnknownOptions(options, 'startCallerReporter', OPTIONS);
  const { intervalMs = 1_000, instance } = options;
  const reports = createHttpReports(options, '@syncline/fair: could not report throttled callers');
  const rates = new RefusalRates(tracker, clock);
  let isClosed = false;
  let timer = schedule(0);

  function schedule(delayMs: number) {
    return clock.setTimer(delayMs, () => void report(), { unref: true });
  }

  async function report(): Promise<void> {
    const callers = rates.take();
    await reports.put('api/fair/callers', { tracker: options.tracker, instance, callers });
    if (!isClosed) timer = schedule(intervalMs);
  }

  return {
    close() {
      isClosed = true;
      reports.close();
      timer.cancel();
    },
  };
}

interface ReportedCaller {
  readonly key: string;
  readonly probability: number;
  readonly throttledPerSecond: number;
}

/** Turns the counts of `tracker.top` into rates since the previous report. */
class RefusalRates {
  readonly #tracker: FairTracker;
  readonly #clock: Clock;
  #counts = new Map<string, number>();
  #atMs: number;

  constructor(tracker: FairTracker, clock: Clock) {
    this.#tracker = tracker;
    this.#clock = clock;
    this.#atMs = clock.monotonicMs();
  }

  take(): readonly ReportedCaller[] {
    const top = this.#tracker.top(fairLimits.reportedCallersMax.value);
    const nowMs = this.#clock.monotonicMs();
    const seconds = Math.max(1, nowMs - this.#atMs) / 1_000;
    const before = this.#counts;
    this.#counts = new Map(top.map(({ key, throttled }) => [key, throttled]));
    this.#atMs = nowMs;
    return top.map(({ key, probability, throttled }) => {
      // Counts halve at each window, so they can fall.
      const refused = Math.max(0, throttled - (before.get(key) ?? 0));
      return { key, probability, throttledPerSecond: refused / seconds };
    });
  }
}
