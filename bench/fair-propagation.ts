// Fair: how long it takes from `report` at one instance until the views of the others show it.
//
// All clients are in this process, so the last one to be served waits for the others; the same is true for Redis. A
// report is two messages, one for each structure, also with Redis. With a broadcast interval the service waits on
// purpose. An instance has one round in flight, and its acknowledgement waits for the interval too, so an instance
// that reports without pause needs up to two intervals. In that bench each instance therefore reports again only long
// after its last round was acknowledged.
import type { AnyBench } from './bench.js';
import {
  CLIENTS,
  FLOWS,
  MESSAGES_PER_CHANGE,
  type PropagationSubject,
  publishContestant,
  trackersContestant,
} from './fair-propagation-contestants.js';
import { defineBench, quantile } from './measure.js';
import { atPace } from './pace.js';

interface Load {
  readonly perSecond: number;
  readonly count: number;
}

/** 1,000 messages a second. */
const BUSY: Load = { perSecond: 1_000 / MESSAGES_PER_CHANGE, count: 350 };
const CALM: Load = { perSecond: 13, count: 24 };
const INTERVAL_MS = 250;
const LAST_CHANGE_TIMEOUT_MS = 10_000;

async function latenciesMs(subject: PropagationSubject, load: Load): Promise<readonly number[]> {
  const latencies: number[] = [];
  const sentAtMs = new Float64Array(FLOWS);
  const senders = new Int32Array(FLOWS).fill(-1);
  const awaited = load.count * (CLIENTS - 1);
  await new Promise<void>((resolve, reject) => {
    const overdue = () => reject(new Error(`${latencies.length} of ${awaited} changes arrived`));
    const timer = setTimeout(
      overdue,
      LAST_CHANGE_TIMEOUT_MS + (load.count * 1_000) / load.perSecond,
    );
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
  return defineBench<PropagationSubject>({
    name,
    unit: 'ms',
    better: 'less',
    about: `${part * 100}th percentile from report to the views of 7 others, ${BUSY.perSecond * MESSAGES_PER_CHANGE} messages/s by ${CLIENTS} instances`,
    contestants: [trackersContestant('state service'), publishContestant],
    run: async (subject) => quantile(await latenciesMs(subject, BUSY), part),
  });
}

export const fairPropagationBenches: readonly AnyBench[] = [
  busyBench('fair-propagation-p50', 0.5),
  busyBench('fair-propagation-p99', 0.99),
  defineBench<PropagationSubject>({
    name: 'fair-propagation-windowed-p99',
    unit: 'ms',
    better: 'less',
    about: `99th percentile from report to the views of 7 others, a broadcast every ${INTERVAL_MS} ms`,
    contestants: [trackersContestant('state service', { broadcastIntervalMs: INTERVAL_MS })],
    bound: { name: 'the interval and 10 ms', value: INTERVAL_MS + 10 },
    run: async (subject) => quantile(await latenciesMs(subject, CALM), 0.99),
  }),
];
