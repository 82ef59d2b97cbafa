// Decides from which peer to pull next. Pure: events and the time are passed in.
//
// One pull runs at a time. A trigger while it runs is remembered once per peer, so that a pull that began before the
// trigger is followed by another. Without any trigger the peer whose last pull is oldest is asked every 10 s, give or
// take a fifth. A peer that was busy is asked again after a second. A pull that failed here, perhaps because the disk
// is full, would fail with any peer: the next one waits up to 8 s, since a large one interrupts clients.
import type { PullReason } from '@syncline/mesh';

export type PullTrigger = 'start' | 'connect' | 'read' | 'interval' | PullReason;

export type PullVerdict = 'done' | 'busy' | 'failed' | 'diverged';

const RETRY_MS = 1_000;
const FAILED_RETRY_MS_MAX = 8_000;
const SPREAD = 0.2;

interface Peer {
  wanted: PullTrigger | undefined;
  notBeforeMs: number;
  lastMs: number;
  /** Its copy differs from ours at the same version: nothing is pulled from it any more. */
  isDiverged: boolean;
}

export interface PullScheduleOptions {
  readonly intervalMs: number;
}

export class PullSchedule {
  readonly #intervalMs: number;
  readonly #peers = new Map<number, Peer>();
  readonly #diverged = new Set<number>();
  #intervalAtMs: number;
  /** Consecutive failed pulls. */
  #failures = 0;
  #notBeforeMs = 0;

  /** `chance` is 0 to 1, here and below. */
  constructor(options: PullScheduleOptions, nowMs: number, chance: number) {
    this.#intervalMs = options.intervalMs;
    this.#intervalAtMs = nowMs + this.#spread(chance);
  }

  get divergedPeers(): readonly number[] {
    return [...this.#diverged];
  }

  peerUp(id: number, trigger: 'start' | 'connect'): void {
    const lastMs = this.#peers.get(id)?.lastMs ?? Number.NEGATIVE_INFINITY;
    const isDiverged = this.#diverged.has(id);
    this.#peers.set(id, { wanted: trigger, notBeforeMs: 0, lastMs, isDiverged });
  }

  peerDown(id: number): void {
    this.#peers.delete(id);
  }

  request(id: number, trigger: PullTrigger): void {
    const peer = this.#peers.get(id);
    if (peer !== undefined) peer.wanted ??= trigger;
  }

  /** From any peer, at once: the one whose last pull is oldest. */
  requestAny(trigger: PullTrigger): void {
    const [id] = this.#oldest();
    if (id !== undefined) this.request(id, trigger);
  }

  /** The pull that is due; undefined if none. It must be followed by `ended`. */
  next(nowMs: number, chance: number): readonly [peer: number, PullTrigger] | undefined {
    if (nowMs >= this.#intervalAtMs) {
      this.#intervalAtMs = nowMs + this.#spread(chance);
      this.requestAny('interval');
    }
    if (nowMs < this.#notBeforeMs) return undefined;
    for (const [id, peer] of this.#peers) {
      if (peer.wanted === undefined || peer.isDiverged || peer.notBeforeMs > nowMs) continue;
      const trigger = peer.wanted;
      peer.wanted = undefined;
      peer.lastMs = nowMs;
      return [id, trigger];
    }
    return undefined;
  }

  /** When to ask `next` again. */
  dueMs(): number {
    let dueMs = this.#intervalAtMs;
    for (const { wanted, notBeforeMs, isDiverged } of this.#peers.values())
      if (wanted !== undefined && !isDiverged) dueMs = Math.min(dueMs, notBeforeMs);
    return Math.max(dueMs, this.#notBeforeMs);
  }

  /** `busy`: try it again soon. `failed`: the problem is on this node. */
  ended(id: number, trigger: PullTrigger, verdict: PullVerdict, nowMs: number): void {
    if (verdict === 'diverged') this.#diverged.add(id);
    if (verdict === 'done') this.#failures = 0;
    if (verdict === 'failed') {
      const waitMs = Math.min(FAILED_RETRY_MS_MAX, RETRY_MS * 2 ** this.#failures);
      this.#notBeforeMs = nowMs + waitMs;
      this.#failures += 1;
    }
    const peer = this.#peers.get(id);
    if (peer === undefined) return;
    if (verdict === 'diverged') peer.isDiverged = true;
    if (verdict === 'done' || verdict === 'diverged') return;
    peer.wanted ??= trigger;
    peer.notBeforeMs = nowMs + RETRY_MS;
    // Others go first.
    this.#peers.delete(id);
    this.#peers.set(id, peer);
  }

  #oldest(): readonly number[] {
    return [...this.#peers]
      .filter(([, { isDiverged }]) => !isDiverged)
      .sort(([, a], [, b]) => a.lastMs - b.lastMs)
      .map(([id]) => id);
  }

  #spread(chance: number): number {
    return this.#intervalMs * (1 - SPREAD + 2 * SPREAD * chance);
  }
}
