// Fair: how long it takes from `report` at one instance until the views of the others show it.
//
// All clients are in this process, so the last of them to be served waits for the others; that is the same
// for Redis. A report is two messages, one for each structure, with Redis too. With an interval the service waits on purpose. An instance has one round in flight, and its
// acknowledgement waits for the interval too, so one that reports without pause needs up to two intervals;
// there each instance reports again when its last round is long acknowledged.
import type { AnyBench } from './bench.js';
import {
  CLIENTS,
  FLOWS,
  MESSAGES_PER_NEWS,
  type NewsSubject,
  publishContestant,
  trackersContestant,
} from './fair-news-contestants.js';
import { defineBench, quantile } from './measure.js';
import { atPace } from './pace.js';

interface Load {
  readonly perSecond: number;
  readonly count: number;
}

/** 1,000 messages a second. */
const BUSY: Load = { perSecond: 1_000 / MESSAGES_PER_NEWS, count: 350 };
const CALM: Load = { perSecond: 13, count: 24 };
const INTERVAL_MS = 250;
const LAST_NEWS_TIMEOUT_MS = 10_000;

async function latenciesMs(subject: NewsSubject, load: Load): Promise<readonly number[]> {
  const latencies: number[] = [];
  const sentAtMs = new Float64Array(FLOWS);
  const senders = new Int32Array(FLOWS).fill(-1);
  const awaited = load.count * (CLIENTS - 1);
  await new Promise<void>((resolve, reject) => {
    const overdue = () => reject(new Error(`${latencies.length} of ${awaited} news arrived`));
    const timer = setTimeout(overdue, LAST_NEWS_TIMEOUT_MS + (load.count * 1_000) / load.perSecond);
    subject.begin((client, flow) => {
      if (senders[flow] === client || senders[flow] === -1) return;
      latencies.push(performance.now() - (sentAtMs[flow] ?? 0));
      if (latencies.length < awaited) return;
      clearTimeout(timer);
      resolve();
    });
    void atPace(load, (index) => {
      const flow = index % FLOWS;
      senders[flow] = index % CLIENTS;
      sentAtMs[flow] = performance.now();
      subject.tell(index % CLIENTS, flow);
    });
  });
  return latencies;
}

function busyBench(name: string, part: number): AnyBench {
  return defineBench<NewsSubject>({
    name,
    unit: 'ms',
    better: 'less',
    about: `${part * 100}th percentile from report to the views of 7 others, ${BUSY.perSecond * MESSAGES_PER_NEWS} messages/s by ${CLIENTS} instances`,
    contestants: [trackersContestant('state service'), publishContestant],
    run: async (subject) => quantile(await latenciesMs(subject, BUSY), part),
  });
}

export const fairPropagationBenches: readonly AnyBench[] = [
  busyBench('fair-propagation-p50', 0.5),
  busyBench('fair-propagation-p99', 0.99),
  defineBench<NewsSubject>({
    name: 'fair-propagation-windowed-p99',
    unit: 'ms',
    better: 'less',
    about: `99th percentile from report to the views of 7 others, a broadcast every ${INTERVAL_MS} ms`,
    contestants: [trackersContestant('state service', { broadcastIntervalMs: INTERVAL_MS })],
    bound: { name: 'the interval and 10 ms', value: INTERVAL_MS + 10 },
    run: async (subject) => quantile(await latenciesMs(subject, CALM), 0.99),
  }),
];
