// A noisy neighbour, tamed over three instances: each instance sees a third of the traffic, and what one learns
// about a caller the others know.
import { createFairTracker, type FairTracker } from '@syncline/fair';
import { grpcRemote } from '@syncline/fair/grpc';
import { type Act, pause, type Stage, until } from './demo-stage.js';

const TICK_MS = 20;
const CAPACITY_PER_SECOND = 150;
/** The quiet ones together ask for less than there is. */
const QUIET = ['ada', 'ben', 'cleo', 'dan', 'eve', 'finn'];
const QUIET_PER_SECOND = 12;
const NOISY_PER_SECOND = 600;
const SECRET = 'the same bytes on every instance';

export const fairAct: Act = {
  name: 'fair',
  title: 'a noisy neighbour, tamed over three instances',
  async play(stage) {
    const { cluster, isFast, signal } = stage;
    const phaseMs = isFast ? 2_500 : 8_000;
    const trackers = [1, 2, 3].map(() =>
      createFairTracker({
        remote: grpcRemote({ address: cluster.address(1, 'grpc'), tracker: 'demo-api' }),
        secret: SECRET,
        policy: 'linear',
      }),
    );
    try {
      await until('the instances to connect', stage, () =>
        trackers.every((tracker) => tracker.status().connected) ? true : undefined,
      );
      await stage.tell(
        `Three instances serve a resource with room for ${CAPACITY_PER_SECOND} requests per second. ` +
          `Six quiet callers want ${QUIET_PER_SECOND} each, one noisy caller wants ${NOISY_PER_SECOND}.`,
        '/fair',
      );
      const before = await serve({ trackers: undefined, phaseMs, signal });
      await stage.tell(
        `Without throttling the quiet callers get ${percent(before.quiet)} of what they ask for.`,
      );
      await stage.tell(
        'Now every instance asks its tracker first. Watch the cells heat up.',
        '/fair?tracker=demo-api',
      );
      await serve({ trackers, phaseMs: phaseMs / 2, signal }); // they learn
      const after = await serve({ trackers, phaseMs, signal });
      const [, , third] = trackers;
      const known = third?.peek('noisy').probability ?? 0;
      stage.fact(
        after.quiet > 0.8 && after.quiet > before.quiet + 0.3 && known > 0.3,
        `the quiet callers now get ${percent(after.quiet)} (before: ${percent(before.quiet)}), and instance 3 refuses ${percent(known)} of the noisy caller`,
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
  readonly signal: Stage['signal'];
}

/** The share of the quiet callers' requests that were served. */
async function serve({ trackers, phaseMs, signal }: Load): Promise<{ readonly quiet: number }> {
  const callers = [
    { key: 'noisy', perSecond: NOISY_PER_SECOND, owed: 0 },
    ...QUIET.map((key) => ({ key, perSecond: QUIET_PER_SECOND, owed: Math.random() })),
  ];
  let tokens = 0;
  let asked = 0;
  let served = 0;
  let turn = 0;
  const startedMs = performance.now();
  for (let lastMs = startedMs; lastMs - startedMs < phaseMs; ) {
    await pause(TICK_MS, signal);
    const nowMs = performance.now();
    const seconds = (nowMs - lastMs) / 1_000;
    lastMs = nowMs;
    tokens = Math.min(CAPACITY_PER_SECOND / 10, tokens + seconds * CAPACITY_PER_SECOND);
    for (const { key } of shuffled(callers, seconds)) {
      const tracker = trackers?.[turn++ % 3];
      const isQuiet = key !== 'noisy';
      if (isQuiet) asked += 1;
      if (tracker?.register(key).throttled === true) continue;
      const isServed = tokens >= 1;
      if (isServed) tokens -= 1;
      if (isServed && isQuiet) served += 1;
      tracker?.report(key, isServed ? 'success' : 'failure');
    }
  }
  return { quiet: asked === 0 ? 0 : served / asked };
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
