// Instances of a fair tracker as separate processes, and queries over all of them.
//
// FAIR_FIGURES=1 prints what was measured on the way: measurements on a busy machine are no reason to fail.
import { connect } from 'node:net';
import {
  type FairInstance,
  type InstanceCell,
  type InstanceOptions,
  type LoadFigures,
  loadKeys,
  startFairInstance,
} from '@syncline/testkit';
import { expect, vi } from 'vitest';

export const WAIT = { timeout: 60_000, interval: 10 };
/** No rotation in the middle of a test. */
const WINDOW_MS = 86_400_000;
/** What a tracker of the default tuning may have pending: 2 structures of 3 levels and 1000 columns. */
const PENDING_CELLS_MAX = 6_000;

export class FairFleet implements AsyncDisposable {
  readonly instances: readonly FairInstance[];

  constructor(instances: readonly FairInstance[]) {
    this.instances = instances;
  }

  statuses() {
    return Promise.all(this.instances.map((instance) => instance.status()));
  }

  /** Resolves to the epoch that they share. */
  async connected(): Promise<number> {
    await vi.waitFor(async () => {
      const statuses = await this.statuses();
      expect(statuses.map(({ connected }) => connected)).not.toContain(false);
      expect(new Set(statuses.map(({ epoch }) => epoch)).size).toBe(1);
    }, WAIT);
    const [first] = await this.statuses();
    return first?.epoch ?? 0;
  }

  /** Resolves when each of them knows how many they are. */
  async counted(): Promise<void> {
    await vi.waitFor(async () => {
      for (const { activeInstances } of await this.statuses())
        expect(activeInstances).toBe(this.instances.length);
    }, WAIT);
  }

  /** Resolves when all have been disconnected long enough for the outage gain. */
  async alone(): Promise<void> {
    await vi.waitFor(async () => {
      for (const { connected, gain } of await this.statuses())
        expect({ connected, isRaised: gain > 1 }).toEqual({ connected: false, isRaised: true });
    }, WAIT);
  }

  /** Since the last call. Every instance must have decided at its full rate without throwing. */
  async figures(phase: string, decisionsPerSecond: number): Promise<readonly LoadFigures[]> {
    const figures = await Promise.all(this.instances.map((instance) => instance.figures()));
    for (const { decisions, elapsedMs } of figures)
      expect(decisions).toBeGreaterThan((elapsedMs / 1_000) * decisionsPerSecond * 0.8);
    for (const { errors, pendingCells } of await this.statuses()) {
      expect(errors).toEqual([]);
      expect(pendingCells).toBeLessThanOrEqual(PENDING_CELLS_MAX);
    }
    const worst = (field: keyof LoadFigures) => Math.max(...figures.map((each) => each[field]));
    const decisions = figures.reduce((sum, each) => sum + each.decisions, 0);
    tell(
      `${phase}: ${decisions} decisions in ${worst('elapsedMs').toFixed(0)} ms, no error; register p50 ${worst('registerP50Us').toFixed(2)} µs, p99 ${worst('registerP99Us').toFixed(2)} µs, longest pause ${worst('longestPauseMs').toFixed(0)} ms`,
    );
    return figures;
  }

  /** Keys that share no cell with each other or with the load. */
  async ownKeys(count: number): Promise<readonly string[]> {
    const candidates = Array.from({ length: count * 4 + 20 }, (_, index) => `own-${index}`);
    const [first] = this.instances;
    if (first === undefined) return [];
    const taken = new Set((await first.peek(loadKeys)).keys.flat().map(placeOf));
    const { keys: cells } = await first.peek(candidates);
    const own = candidates.filter((_, index) => {
      const places = cells[index]?.map(placeOf) ?? [];
      if (places.some((place) => taken.has(place))) return false;
      for (const place of places) taken.add(place);
      return true;
    });
    expect(own.length).toBeGreaterThanOrEqual(count);
    return own.slice(0, count);
  }

  /** The value of each key at each instance: the lowest of its cells, which decides. */
  async probabilities(keys: readonly string[]): Promise<readonly (readonly number[])[]> {
    const views = await Promise.all(this.instances.map((instance) => instance.peek(keys)));
    return views.map((view) =>
      view.keys.map((cells) => Math.min(...cells.map(({ probability }) => probability))),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance[Symbol.asyncDispose]()));
  }
}

export function startFleet(
  count: number,
  { options, ...rest }: Omit<InstanceOptions, 'tracker'>,
): FairFleet {
  const settings = { ...rest, tracker: 'api', options: { windowMs: WINDOW_MS, ...options } };
  return new FairFleet(Array.from({ length: count }, () => startFairInstance(settings)));
}

/** How long after `sinceMs` of wall time the last of them was connected, too late by at most one poll. */
export async function lastConnectedMs(fleet: FairFleet, sinceMs: number): Promise<number> {
  const statuses = await fleet.statuses();
  return Math.max(
    ...statuses.map(({ connectedAtMs = Number.POSITIVE_INFINITY }) => connectedAtMs - sinceMs),
  );
}

/** The highest value that any instance holds of each cell of these keys. */
export async function largestViews(fleet: FairFleet, keys: readonly string[]) {
  const views = await Promise.all(fleet.instances.map((instance) => instance.peek(keys)));
  const largest = new Map<string, number>();
  for (const cell of views.flatMap((view) => view.keys.flat())) {
    const place = placeOf(cell);
    largest.set(place, Math.max(largest.get(place) ?? 0, cell.probability));
  }
  return { seed: views[0]?.seed ?? 0, largest };
}

export function placeOf({ level, column }: InstanceCell): string {
  return `${level}/${column}`;
}

/** Resolves to the wall time at which a port accepts connections. */
export async function whenItAccepts(port: number): Promise<number> {
  const isOpen = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true));
      socket.once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
  await vi.waitFor(async () => expect(await isOpen()).toBe(true), { ...WAIT, interval: 2 });
  return Date.now();
}

export function tell(text: string): void {
  if (process.env['FAIR_FIGURES'] !== undefined) process.stderr.write(`${text}\n`);
}
