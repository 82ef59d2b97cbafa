// A noisy neighbor, contained across three instances: each instance sees a third of the traffic, and they
// share what they learn about callers.
import { createFairTracker, type FairTracker } from '@syncline/fair';
import { grpcRemote } from '@syncline/fair/grpc';
import { type Act, pause, type Stage, until } from './demo-stage.js';

const TICK_MS = 20;
const REPORT_MS = 1_000;
const CAPACITY_PER_SECOND = 150;
/** The quiet callers together request less than the capacity. */
const QUIET = ['ada', 'ben', 'cleo', 'dan', 'eve', 'finn'];
const QUIET_PER_SECOND = 12;
const NOISY_PER_SECOND = 600;
const TRACKER = 'demo-api';
const SECRET = 'the same bytes on every instance';

export const fairAct: Act = {
  name: 'fair',
  title: 'a noisy neighbor, contained across three instances',
  async play(stage) {
    const { cluster, isFast } = stage;
    const phaseMs = isFast ? 2_500 : 8_000;
    const trackers = [1, 2, 3].map(() =>
      createFairTracker({
        remote: grpcRemote({ address: cluster.address(1, 'grpc'), tracker: TRACKER }),
        secret: SECRET,
        policy: 'linear',
      }),
    );
    try {
      await until('the instances to connect', stage, () =>
        trackers.every((tracker) => tracker.status().connected) ? true : undefined,
      );
      await stage.narrate(
        `Three instances share a resource with capacity for ${CAPACITY_PER_SECOND} requests per second. ` +
          `Six quiet callers send ${QUIET_PER_SECOND} each, and one noisy caller sends ${NOISY_PER_SECOND}.`,
        '/fair',
      );
      const before = await serve({ trackers: undefined, phaseMs, stage });
      await stage.narrate(
        `Without throttling, only ${percent(before.quiet)} of the quiet callers' requests are served.`,
      );
      await stage.narrate(
        'Now every instance consults its tracker first. Watch the cells heat up.',
        `/fair?tracker=${TRACKER}`,
      );
      await serve({ trackers, phaseMs: phaseMs / 2, stage }); // they learn
      const after = await serve({ trackers, phaseMs, stage });
      const [, , third] = trackers;
      const known = third?.peek('noisy').probability ?? 0;
      stage.check(
        after.quiet > 0.8 && after.quiet > before.quiet + 0.3 && known > 0.3,
        `${percent(after.quiet)} of the quiet callers' requests are now served (before: ${percent(before.quiet)}), and instance 3 refuses ${percent(known)} of the noisy caller's`,
        { before: round(before.quiet), after: round(after.quiet), noisyProbability: round(known) },
      );
    } finally {
      await Promise.all(trackers.map((tracker) => tracker.close({ timeoutMs: 200 })));
    }
  },
};

interface Load {
  /** Undefined: every request goes to the resource. */
  readonly trackers: readonly FairTracker[] | undefined;
  readonly phaseMs: number;
  readonly stage: Stage;
}

/** The share of the quiet callers' requests that were served. */
async function serve({ trackers, phaseMs, stage }: Load): Promise<{ readonly quiet: number }> {
  const callers = [
    { key: 'noisy', perSecond: NOISY_PER_SECOND, owed: 0 },
    ...QUIET.map((key) => ({ key, perSecond: QUIET_PER_SECOND, owed: Math.random() })),
  ];
  let tokens = 0;
  let asked = 0;
  let served = 0;
  let turn = 0;
  let reportedMs = performance.now();
  const throttled = new Map<string, number>();
  const startedMs = performance.now();
  // Steps are equal even if timers are late on a busy machine: a burst after a pause would look like more demand.
  for (let elapsedMs = TICK_MS; elapsedMs <= phaseMs; elapsedMs += TICK_MS) {
    await pause(Math.max(0, startedMs + elapsedMs - performance.now()), stage.signal);
    const nowMs = performance.now();
    if (trackers !== undefined && nowMs - reportedMs >= REPORT_MS) {
      reportCallers(stage, trackers, throttled, (nowMs - reportedMs) / 1_000);
      reportedMs = nowMs;
      throttled.clear();
    }
    const seconds = TICK_MS / 1_000;
    tokens = Math.min(CAPACITY_PER_SECOND / 10, tokens + seconds * CAPACITY_PER_SECOND);
    for (const { key } of shuffled(callers, seconds)) {
      const tracker = trackers?.[turn++ % 3];
      const isQuiet = key !== 'noisy';
      if (isQuiet) asked += 1;
      if (tracker?.register(key).throttled === true) {
        throttled.set(key, (throttled.get(key) ?? 0) + 1);
        continue;
      }
      const isServed = tokens >= 1;
      if (isServed) tokens -= 1;
      if (isServed && isQuiet) served += 1;
      tracker?.report(key, isServed ? 'success' : 'failure');
    }
  }
  return { quiet: asked === 0 ? 0 : served / asked };
}

/** For the dashboard, because the state service knows cells but not callers. */
function reportCallers(
  { cluster }: Stage,
  trackers: readonly FairTracker[],
  throttled: ReadonlyMap<string, number>,
  seconds: number,
): void {
  for (const [at, tracker] of trackers.entries()) {
    const callers = ['noisy', ...QUIET].map((key) => ({
      key,
      probability: tracker.peek(key).probability,
      throttledPerSecond: (throttled.get(key) ?? 0) / seconds / trackers.length,
    }));
    const body = JSON.stringify({ tracker: TRACKER, instance: `instance ${at + 1}`, callers });
    const headers = { 'content-type': 'application/json' };
    const url = cluster.url(1, '/api/fair/callers');
    fetch(url, { method: 'PUT', headers, body }).catch(() => undefined); // the act does not depend on it
  }
}

interface Caller {
  readonly key: string;
  readonly perSecond: number;
  owed: number;
}

/** The requests that are due, in random order. */
function shuffled(callers: readonly Caller[], seconds: number): readonly Caller[] {
  const due: { readonly caller: Caller; readonly order: number }[] = [];
  for (const caller of callers) {
    caller.owed += caller.perSecond * seconds;
    for (; caller.owed >= 1; caller.owed -= 1) due.push({ caller, order: Math.random() });
  }
  return due.sort((a, b) => a.order - b.order).map(({ caller }) => caller);
}

function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

function round(share: number): number {
  return Math.round(share * 1_000) / 1_000;
}
