// Pending requests for the committed versions of peers.
import { SynclineError, type VersionVector } from '@syncline/kernel';
import { meshLimits } from './limits.js';

interface Query {
  readonly count: number;
  /** Peers that have not answered. */
  readonly asked: Set<number>;
  readonly answers: VersionVector[];
  readonly finish: () => void;
}

const idEnd = 2 ** 32;

export class VersionQueries {
  readonly #queries = new Map<number, Query>();
  #lastId = 0;

  /** Resolves when `count` of the peers have answered, when all have, or when the signal fires. */
  ask(
    peers: readonly number[],
    count: number,
    signal: AbortSignal,
    send: (peer: number, id: number) => void,
  ): Promise<readonly VersionVector[]> {
    if (peers.length === 0 || count <= 0 || signal.aborted) return Promise.resolve([]);
    if (this.#queries.size >= meshLimits.waitersMax.value) {
      const message = 'too many callers are waiting for the versions of peers';
      return Promise.reject(new SynclineError('overloaded', message));
    }
    this.#lastId = (this.#lastId + 1) % idEnd;
    const id = this.#lastId;
    return new Promise((resolve) => {
      const answers: VersionVector[] = [];
      const finish = () => {
        this.#queries.delete(id);
        signal.removeEventListener('abort', finish);
        resolve(answers);
      };
      this.#queries.set(id, { count, asked: new Set(peers), answers, finish });
      signal.addEventListener('abort', finish);
      for (const peer of peers) send(peer, id);
    });
  }

  answered(peer: number, id: number, version: VersionVector): void {
    const query = this.#queries.get(id);
    if (query === undefined || !query.asked.delete(peer)) return;
    query.answers.push(version);
    finishIfDone(query);
  }

  /** A peer has disconnected and will not answer. */
  down(peer: number): void {
    for (const query of this.#queries.values()) {
      if (query.asked.delete(peer)) finishIfDone(query);
    }
  }

  /** Ends all with the answers received so far. */
  close(): void {
    for (const { finish } of this.#queries.values()) finish();
  }
}

function finishIfDone({ asked, answers, count, finish }: Query): void {
  if (asked.size === 0 || answers.length >= count) finish();
}
