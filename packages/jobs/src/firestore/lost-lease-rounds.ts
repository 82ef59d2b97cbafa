// Looks for leases that nobody renewed, while somebody listens.
//
// Every half of the shortest time to live it asks for renewals that are older, so that a dead task shows within
// one and a half of its time to live. The estimate of Firestore's clock only decides what to look at: the
// transaction that declares a lease lost compares the renewal with its own read time.
//
// J18  A lease is declared lost between one and one and a half times its time to live after its last renewal.

import { type DocumentSnapshot, Timestamp } from '@google-cloud/firestore';
import { type Clock, type Logger, SynclineError, type Timer } from '@syncline/kernel';
import type { TaskLease } from '../job.js';
import { jobsLimits } from '../limits.js';
import type { JobDocuments } from './document-refs.js';
import type { FirestoreCalls } from './firestore-calls.js';
import type { JobCache } from './job-cache.js';
import { lostOperation } from './job-operations.js';
import type { JobWriter } from './job-writer.js';
import type { StoreReports } from './store-reports.js';
import { readRenewalDocument } from './task-document.js';

const PAGE_LEASES = jobsLimits.listStatesMax.value;

export interface LostLeaseRoundsDeps {
  readonly calls: FirestoreCalls;
  readonly documents: JobDocuments;
  readonly writer: () => JobWriter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly reports: StoreReports;
  /** May be behind own writes: it only says what to look for. Undefined while it is not live. */
  readonly cache: () => JobCache | undefined;
}

export class LostLeaseRounds {
  readonly #deps: LostLeaseRoundsDeps;
  #timer: Timer | undefined;
  #everyMs = Number.POSITIVE_INFINITY;
  /** Firestore's wall clock less our monotonic one, as of the newest snapshot. */
  #clockOffsetMs = 0;
  #isStopped = false;

  constructor(deps: LostLeaseRoundsDeps) {
    this.#deps = deps;
  }

  noteTime(readAtMs: number): void {
    this.#clockOffsetMs = readAtMs - this.#deps.clock.monotonicMs();
  }

  /** To be called when leases have changed. */
  plan(): void {
    const ttlMs = this.#deps.cache()?.shortestTtlMs();
    const everyMs = ttlMs === undefined ? Number.POSITIVE_INFINITY : ttlMs / 2;
    if (this.#isStopped || everyMs >= this.#everyMs) return;
    this.#timer?.cancel();
    this.#everyMs = everyMs;
    this.#timer = this.#deps.clock.setTimer(everyMs, () => void this.#round(), { unref: true });
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  async #round(): Promise<void> {
    try {
      await this.#declareOverdue();
    } catch (thrown) {
      // The next round looks again; a lost connection is noticed and told elsewhere.
      const { jobId } = this.#deps.documents;
      const error = SynclineError.from(thrown).message;
      this.#deps.logger.debug('could not look for lost leases', { jobId, error });
    }
    this.#everyMs = Number.POSITIVE_INFINITY;
    this.plan();
  }

  async #declareOverdue(): Promise<void> {
    const { calls, documents, clock } = this.#deps;
    const nowMs = clock.monotonicMs() + this.#clockOffsetMs;
    const ttlMs = this.#deps.cache()?.shortestTtlMs();
    if (ttlMs === undefined) return;
    const oldest = Timestamp.fromMillis(Math.floor(nowMs - ttlMs));
    let query = documents.leases
      .where('renewedAt', '<=', oldest)
      .orderBy('renewedAt')
      .limit(PAGE_LEASES);
    for (;;) {
      const what = `looking for lost leases of job "${documents.jobId}"`;
      const found = await calls.read(what, () => query.get());
      const overdue = found.docs.flatMap((document) => this.#overdueLease(document, nowMs) ?? []);
      // At once, so that they share transactions: many tasks may have died together.
      await Promise.all(overdue.map((lease) => this.#declareLost(lease)));
      const last = found.docs.at(-1);
      if (!last || found.size < PAGE_LEASES) return;
      query = query.startAfter(last);
    }
  }

  #overdueLease(document: DocumentSnapshot, nowMs: number): TaskLease | undefined {
    const renewal = readRenewalDocument(document);
    const lease = this.#deps.cache()?.leaseAtRisk(Number(document.id));
    const isOverdue =
      renewal !== undefined &&
      renewal.epoch === lease?.epoch &&
      renewal.renewedAtMs + renewal.ttlMs <= nowMs;
    return isOverdue ? lease : undefined;
  }

  async #declareLost({ taskId, epoch }: TaskLease): Promise<void> {
    const { writer, reports, documents, cache } = this.#deps;
    const lost = await writer().run(lostOperation({ taskId, epoch }));
    const incarnation = cache()?.incarnation ?? '';
    const { jobId } = documents;
    if (lost) reports.lost({ jobId, incarnation, taskId, epoch }, lost.revision);
  }
}
