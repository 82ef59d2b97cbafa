// All RESP connections of a node: gives out their ids, lists them for commands, and checks their deadlines.
//
// One timer for all of them checks once a second what has lasted too long: timers per connection would be set and
// cancelled with every command. It also checks whether all of them together hold too much.
//
// S10  What all connections leave unread or incomplete is bounded; those with most are closed first.
import type { Timer } from '@syncline/kernel';
import type { Client } from '../commands/client.js';
import { setsLimits } from '../limits.js';
import type { RespPeer, RespSession } from '../sets.js';
import { Session, type SessionDeps } from './session.js';
import { SharedTurn } from './session-limits.js';

const SWEEP_MS = 1_000;

export interface RespSessionsDeps extends Omit<SessionDeps, 'sharedTurn'> {
  /** Open connections, by id: maintained here, and shown to commands as `facts.clients`. */
  readonly clients: Map<number, Client>;
}

export class RespSessions {
  readonly #deps: RespSessionsDeps;
  readonly #heldBytesMax: number;
  readonly #sessionDeps: SessionDeps;
  readonly #sessions = new Map<number, Session>();
  /** Connections since the start, for INFO. */
  connectionsTotal = 0;
  #sweepTimer: Timer | undefined;

  constructor(deps: RespSessionsDeps, { heldBytesMax = setsLimits.heldBytesMax.value } = {}) {
    this.#deps = deps;
    this.#heldBytesMax = heldBytesMax;
    this.#sessionDeps = { ...deps, sharedTurn: new SharedTurn(deps.clock) };
  }

  connect(peer: RespPeer): RespSession {
    this.connectionsTotal += 1;
    const id = this.connectionsTotal;
    const onGone = () => this.#forget(id);
    const session = new Session(this.#sessionDeps, { id, peer, onGone });
    this.#sessions.set(id, session);
    this.#deps.clients.set(id, session.client);
    this.#deps.metrics.set('syncline_sets_connections', this.#sessions.size);
    this.#sweepTimer ??= this.#startSweep();
    if (peer.gone.aborted) session.leave();
    return session;
  }

  /** Accepts no more commands; what has arrived is answered, then each connection ends. */
  close(): void {
    for (const session of this.#sessions.values()) session.close('draining');
  }

  #forget(id: number): void {
    this.#sessions.delete(id);
    this.#deps.clients.delete(id);
    this.#deps.metrics.set('syncline_sets_connections', this.#sessions.size);
    if (this.#sessions.size > 0) return;
    this.#sweepTimer?.cancel();
    this.#sweepTimer = undefined;
  }

  #startSweep(): Timer {
    return this.#deps.clock.setTimer(SWEEP_MS, () => this.#sweep(), { unref: true });
  }

  #sweep(): void {
    this.#sweepTimer = undefined;
    const nowMs = this.#deps.clock.monotonicMs();
    for (const session of this.#sessions.values()) session.checkDeadlines(nowMs);
    this.#makeRoom();
    if (this.#sessions.size > 0) this.#sweepTimer = this.#startSweep();
  }

  #makeRoom(): void {
    const sessions = [...this.#sessions.values()];
    let heldBytes = sessions.reduce((sum, session) => sum + session.heldBytes, 0);
    if (heldBytes <= this.#heldBytesMax) return;
    for (const session of sessions.toSorted((a, b) => b.heldBytes - a.heldBytes)) {
      if (heldBytes <= this.#heldBytesMax) return;
      heldBytes -= session.heldBytes;
      session.cutForRoom();
    }
  }
}
