// Decides from whom to pull next. Pure: it is told what happens and what time it is.
//
// One pull runs at a time. A trigger while it runs is remembered once per peer, so that a pull which began before the
// trigger is followed by another. Without any trigger the peer whose last pull is oldest is asked every 10 s, give or
// take a fifth. A peer that was busy, or whose pull failed, is asked again after a second.
import type { PullReason } from '@syncline/mesh';

export type PullTrigger = 'start' | 'connect' | 'read' | 'interval' | PullReason;

const RETRY_MS = 1_000;
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

  want(id: number, trigger: PullTrigger): void {
    const peer = this.#peers.get(id);
    if (peer !== undefined) peer.wanted ??= trigger;
  }

  /** From any peer, at once: the one whose last pull is oldest. */
  wantAny(trigger: PullTrigger): void {
    const [id] = this.#oldest();
    if (id !== undefined) this.want(id, trigger);
  }

  /** The pull that is due; undefined: none. It must be `ended`. */
  next(nowMs: number, chance: number): readonly [peer: number, PullTrigger] | undefined {
    if (nowMs >= this.#intervalAtMs) {
      this.#intervalAtMs = nowMs + this.#spread(chance);
      this.wantAny('interval');
    }
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
    return dueMs;
  }

  /** `again`: it was busy or failed, try it again soon. */
  ended(id: number, trigger: PullTrigger, outcome: 'done' | 'again' | 'diverged', nowMs: number) {
    if (outcome === 'diverged') this.#diverged.add(id);
    const peer = this.#peers.get(id);
    if (peer === undefined) return;
    if (outcome === 'diverged') peer.isDiverged = true;
    if (outcome !== 'again') return;
    peer.wanted ??= trigger;
    peer.notBeforeMs = nowMs + RETRY_MS;
    // Others come first.
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
