// Pulls that peers have started here: a few at a time, in slices, until they are done, give up or go silent.
import type { Clock, Logger } from '@syncline/kernel';
import type { SetsState } from '../engine/sets-state.js';
import type { LoopShare, Turns } from '../engine/turns.js';
import { setsLimits } from '../limits.js';
import type { PullLimits } from './pull-limits.js';
import type { DoneMessage, MoreMessage, OpenMessage, PullMessage } from './pull-messages.js';
import { answerAtOnce, busyOffer, PullServer } from './pull-server.js';

export interface ServedPullsDeps {
  readonly state: SetsState;
  readonly turns: Turns;
  readonly loop: LoopShare;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: PullLimits;
  /** False: the peer is not connected. */
  send(peer: number, message: PullMessage): boolean;
  /** True: nothing can be served now. */
  isBusy(): boolean;
  /**
   * Undefined if memory is consistent. Otherwise a repair is being applied, and memory must not be shown before it is
   * complete.
   */
  whenWhole(): Promise<void> | undefined;
}

interface Served {
  readonly peer: number;
  readonly server: PullServer;
  /** Wakes the loop that waits for a message. */
  wake: () => void;
  isOver: boolean;
}

export class ServedPulls {
  readonly #deps: ServedPullsDeps;
  readonly #served = new Set<Served>();

  constructor(deps: ServedPullsDeps) {
    this.#deps = deps;
  }

  get peers(): readonly number[] {
    return [...this.#served].map(({ peer }) => peer);
  }

  open(peer: number, open: OpenMessage): void {
    const { state, turns, send, isBusy } = this.#deps;
    this.peerDown(peer); // it has given up what it had started before
    const whole = this.#deps.whenWhole();
    if (whole !== undefined) {
      void whole.then(() => this.open(peer, open));
      return;
    }
    turns.commitNow();
    const answer = answerAtOnce(state, open);
    const isFull = this.#served.size >= setsLimits.pullsServedMax.value;
    if (isBusy() || (answer === undefined && isFull)) {
      send(peer, busyOffer(open.session));
    } else if (answer !== undefined) {
      turns.settled().then(
        () => void send(peer, answer),
        () => undefined, // the peer asks again
      );
    } else {
      this.#start(peer, open);
    }
  }

  more(peer: number, message: MoreMessage): void {
    const served = this.#find(peer, message.session);
    served?.server.receive(message);
    served?.wake();
  }

  done(peer: number, { session }: DoneMessage): void {
    const served = this.#find(peer, session);
    if (served !== undefined) this.#end(served);
  }

  peerDown(peer: number): void {
    for (const served of this.#served) if (served.peer === peer) this.#end(served);
  }

  /** Ends all pulls: the peers try again, or elsewhere. */
  endAll(): void {
    for (const served of [...this.#served]) {
      this.#end(served);
      this.#deps.send(served.peer, busyOffer(served.server.session));
    }
  }

  #find(peer: number, session: number): Served | undefined {
    return [...this.#served].find(
      (served) => served.peer === peer && served.server.session === session,
    );
  }

  #start(peer: number, open: OpenMessage): void {
    const { state, limits, logger } = this.#deps;
    const send = (message: PullMessage) => {
      if (!this.#deps.send(peer, message)) this.#end(served);
    };
    const server = new PullServer({ state, limits, send }, open);
    const served: Served = { peer, server, wake: () => {}, isOver: false };
    this.#served.add(served);
    this.#run(served).catch((thrown: unknown) => {
      // Its pin was broken, or its turn could not be stored.
      logger.info('pull by a peer ended early', { peer, reason: String(thrown) });
      this.#end(served);
      this.#deps.send(peer, busyOffer(server.session));
    });
  }

  async #run(served: Served): Promise<void> {
    const { turns, loop, clock } = this.#deps;
    await turns.settled(); // what is shown is as durable as configured
    while (!served.isOver) {
      turns.commitNow(); // a pin is walked between turns
      if (served.server.step() === 'more') {
        await loop.yieldIfOverBudget();
        continue;
      }
      await new Promise<void>((resolve) => {
        const timer = clock.setTimer(setsLimits.pullIdleMs.value, () => {
          this.#end(served);
        });
        served.wake = () => {
          timer.cancel();
          resolve();
        };
      });
    }
  }

  #end(served: Served): void {
    served.isOver = true;
    this.#served.delete(served);
    served.server.close();
    served.wake();
  }
}
