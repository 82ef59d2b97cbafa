// The manager of one task of a job: its writes, its claim, and all reads. State writes are checked once, and sent one at
// a time per tag in the order of the calls. Failed renewals are only logged, except that a newer claim stops it (J13).
//
// J2   A write keeps its event id over all attempts, so that it creates at most one version.
// J13  After `fenced` it refuses every call: another process has the task.
// J14  Only task 0 changes the job as a whole, and only while its claim is the newest.
// J21  After `close()` no timer, call or subscription is left.
import { type LogFields, SynclineError, silentMetrics, type Timer } from '@syncline/kernel';
import { checkKnownKeys, invalidArgument, refuseUnless } from '@syncline/kernel/checks';
import {
  type CheckedWrite,
  CONTENT_KEYS,
  checkStateWrite,
  payloadRefusal,
} from '../checks/checked-write.js';
import { checkStatus } from '../checks/values.js';
import { hasCode } from '../core/refusals.js';
import { WriteQuota } from '../engine/write-quota.js';
import type { JobInfo, JobPatch, LeaseRequest, TaskLease } from '../job.js';
import { JobStatus } from '../job.js';
import type { CallOptions, JobCallOptions, SetStateResult, StateWrite } from '../job-store.js';
import { timedWrite } from '../metrics-list.js';
import type { GlobalWrite, MessageWrite, TagSchemas, TagWrite } from './job-manager.js';
import { OpenReader, type ReaderDeps } from './open-reader.js';
import { errorMessage, warningMessage } from './status-message.js';
import { OpenCall, type StoreCall } from './store-calls.js';

const EVENT_ID_BYTES = 16;

// Writes whose types are not checked yet: JavaScript callers may pass anything.
type HelperInput = MessageWrite<TagSchemas, string>;
type ErrorInput = TagWrite<TagSchemas, string> & Readonly<{ status?: number | string }>;
type WriteInput = HelperInput &
  Readonly<{ status: number | string; ifVersion?: number | undefined }>;

type Claim = Omit<LeaseRequest, 'action'>;

/** The lease is renewed every third of its TTL, so that two renewals may fail before it is lost. */
const RENEWALS_PER_TTL = 3;
/** Closing must not delay the process for long: a lease that is not released expires anyway. */
const RELEASE_TIMEOUT_MS = 5_000;

/**
 *   open ──▶ fenced    a newer claim has the task: every later call is refused
 *     └──────┴──▶ closing    reads and subscriptions end; accepted writes continue until their deadline
 */
export class OpenManager extends OpenReader {
  readonly taskId: number;
  readonly #claim: Claim;
  #fencedBy: SynclineError | undefined;
  #renewTimer: Timer | undefined;
  #renewing: Promise<void> | undefined;
  /** Of several failed writes in a row, only the first is logged. */
  #isFailing = false;
  #isJobDeleted = false;
  /** For each tag with pending writes, resolves when the last one has ended. */
  readonly #tails = new Map<string, Promise<void>>();
  /** Writes to an unreachable store must not exhaust memory. */
  readonly #quota = new WriteQuota(silentMetrics);
  #closed: Promise<void> | undefined;

  constructor(deps: ReaderDeps, job: JobInfo, claim: Claim, isRenewedAutomatically: boolean) {
    super(deps, job, `the manager of task ${claim.taskId} of job "${job.jobId}"`);
    this.taskId = claim.taskId;
    this.#claim = claim;
    if (isRenewedAutomatically) this.#renewRegularly(claim.ttlMs / RENEWALS_PER_TTL);
  }

  setState(write: WriteInput, call: CallOptions = {}): Promise<SetStateResult> {
    const { states, clock, observer } = this.deps;
    return timedWrite({ clock, metrics: observer }, async () => {
      const result = await this.#checkAndSend(write, call);
      if (!result.applied) return { ...result, current: await states.read(result.current) };
      return { ...result, state: await states.read(result.state) };
    });
  }

  setStarted(write: HelperInput, call?: CallOptions): Promise<SetStateResult> {
    const message = messageOr('🟢 Started', write);
    return this.setState(withStatus(write, JobStatus.started, message), call);
  }

  setFinished(write: HelperInput, call?: CallOptions): Promise<SetStateResult> {
    const message = messageOr('⚫ Finished', write);
    return this.setState(withStatus(write, JobStatus.finished, message), call);
  }

  setWarning(text: string, write: HelperInput, call?: CallOptions): Promise<SetStateResult> {
    const message = warningMessage(text);
    return this.setState(withStatus(write, JobStatus.warning, message), call);
  }

  async setError(thrown: unknown, write: ErrorInput, call?: CallOptions): Promise<SetStateResult> {
    const given = (write as ErrorInput | undefined)?.status;
    const status = checkStatus(this.#statusOf(given ?? JobStatus.error));
    const wanted = 'a negative number other than −2, which is a warning';
    refuseUnless(status < 0 && status !== JobStatus.warning, 'status', { value: status, wanted });
    return this.setState(withStatus(write, status, errorMessage(thrown)), call);
  }

  async heartbeat(call: CallOptions = {}): Promise<TaskLease> {
    this.check(call);
    return this.#renew({ signal: call.signal });
  }

  updateJob(patch: JobPatch, call: CallOptions = {}): Promise<GlobalWrite> {
    return this.#writeGlobally('updateJob', call, async (jobId, options) => {
      this.info = await this.deps.store.updateJob(jobId, patch, options);
      return this.info.revision;
    });
  }

  markJobDeleted(call: CallOptions = {}): Promise<GlobalWrite> {
    return this.#writeGlobally('markJobDeleted', call, async (jobId, options) => {
      this.info = await this.deps.store.markJobDeleted(jobId, options);
      return this.info.revision;
    });
  }

  async deleteJob(call: CallOptions = {}): Promise<GlobalWrite> {
    const { store } = this.deps;
    const { incarnation } = this.info;
    let revision = 0;
    let hasBegun = false;
    const deleting = this.#writeGlobally('deleteJob', call, async (jobId, options) => {
      hasBegun = true;
      const found = await store.getJob(jobId, options);
      if (found?.incarnation === incarnation) revision = found.revision;
      await store.deleteJob(jobId, options);
      return revision;
    });
    const write = await deleting.catch((thrown: unknown): GlobalWrite => {
      // `fenced`: the job has been recreated since an attempt arrived, or since it was read.
      const isGone = hasCode(thrown, 'not-found') || (hasCode(thrown, 'fenced') && hasBegun);
      if (!isGone) throw thrown;
      return { applied: true, revision };
    });
    if (write.applied) {
      this.#isJobDeleted = true; // there is nothing left to renew or release
      this.#renewTimer?.cancel();
    }
    return write;
  }

  override close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    try {
      await super.close();
    } finally {
      this.#renewTimer?.cancel();
      await this.#renewing;
      await Promise.all(this.#tails.values()); // accepted writes end at their deadlines at the latest
      await this.#release();
    }
  }

  /**
   * The store checks no epoch here, since operators have none. So the lease is renewed first, and the request contains
   * the incarnation: a manager whose task was taken over, or whose job was recreated, is fenced and changes nothing.
   */
  async #writeGlobally(
    name: string,
    call: CallOptions,
    send: (jobId: string, options: JobCallOptions) => Promise<number>,
  ): Promise<GlobalWrite> {
    this.check(call);
    if (this.taskId !== 0) return { applied: false, reason: 'not-task-0' };
    const { signal } = call;
    await this.#renew({ signal });
    const { jobId, incarnation } = this.info;
    const revision = await this.call(name, { isWrite: true, signal }, (options) =>
      send(jobId, { ...options, incarnation }),
    );
    return { applied: true, revision };
  }

  /** Throws `closed` or `fenced`. */
  protected override check(call?: CallOptions): void {
    super.check(call);
    this.#checkFence();
  }

  /** For writes that were accepted before closing began. */
  #checkFence(): void {
    if (this.#fencedBy === undefined) return;
    this.deps.metrics.add('syncline_jobs_fenced_total');
    throw this.#fencedBy;
  }

  #fence(error: SynclineError, fields: LogFields): void {
    const { metrics, logger } = this.deps;
    metrics.add('syncline_jobs_fenced_total');
    if (!this.#fencedBy) logger.error('🔴 another process has taken over this task', fields);
    this.#fencedBy ??= error;
  }

  async #renew(options: Omit<StoreCall, 'what'>): Promise<TaskLease> {
    try {
      return await this.#lease('renew', options);
    } catch (thrown) {
      if (hasCode(thrown, 'fenced')) this.#fence(thrown, { epoch: this.#claim.epoch });
      throw thrown;
    }
  }

  #lease(action: 'renew' | 'release', options: Omit<StoreCall, 'what'>): Promise<TaskLease> {
    const what = action === 'renew' ? 'the renewal of the lease' : 'the release';
    return this.call(`${what} of task ${this.taskId}`, options, (call) =>
      this.deps.store.lease({ ...this.#claim, action }, call),
    );
  }

  /** Never throws: the caller of `close` could do nothing about it. */
  async #release(): Promise<void> {
    if (this.#fencedBy || this.#isJobDeleted) return;
    const options = { isWrite: true, timeoutMs: RELEASE_TIMEOUT_MS, closing: undefined };
    try {
      await this.#lease('release', options);
    } catch (thrown) {
      const fields = { epoch: this.#claim.epoch, error: SynclineError.from(thrown).code };
      this.deps.logger.warn('🟡 the lease could not be released', fields);
    }
  }

  #renewRegularly(everyMs: number): void {
    const { clock, logger } = this.deps;
    const isOver = () => this.#isJobDeleted || (this.#closed ?? this.#fencedBy) !== undefined;
    let isFailing = false;
    const renew = async () => {
      const startMs = clock.monotonicMs();
      try {
        await this.#renew({ timeoutMs: everyMs });
        isFailing = false;
      } catch (thrown) {
        // Only the first failure in a row is logged. An outage of the store has already been logged.
        const isOutage = hasCode(thrown, 'unavailable') || hasCode(thrown, 'timeout');
        const error = thrown instanceof SynclineError ? thrown.code : String(thrown);
        const isNew = !isFailing && !isOutage && !isOver();
        if (isNew) logger.warn('🟡 the lease could not be renewed', { error });
        isFailing ||= isNew;
      }
      plan(Math.max(0, startMs + everyMs - clock.monotonicMs()));
    };
    const start = () => {
      this.#renewing = renew();
    };
    const plan = (delayMs: number) => {
      if (!isOver()) this.#renewTimer = clock.setTimer(delayMs, start, { unref: true });
    };
    plan(everyMs);
  }

  #statusOf(status: number | string): number {
    if (typeof status !== 'string') return status;
    const { statuses } = this.deps.states;
    const known = statuses.get(status);
    if (known !== undefined) return known;
    const names = [...statuses.keys()].join(', ');
    const wanted = `a number, or one of the statuses (${names || 'none'})`;
    throw invalidArgument('status', status, wanted);
  }

  /** Without types, a mistyped tag would become a tag of the job. Whether it is a tag at all is checked later. */
  #checkDeclared(tag: unknown): void {
    const { tags } = this.deps.states;
    if (tags.size === 0 || typeof tag !== 'string' || tags.has(tag)) return;
    throw invalidArgument('tag', tag, `one of the declared tags: ${[...tags.keys()].join(', ')}`);
  }

  async #checkAndSend(input: WriteInput, given: CallOptions): Promise<SetStateResult> {
    this.check(given);
    const write = this.#checked(input);
    const { jobId, tag, eventId, bytes } = write;
    this.#quota.check(bytes);
    const what = `setState of tag ${JSON.stringify(tag)} in job "${jobId}"`;
    const options = { what, isWrite: true, signal: given.signal, details: { eventId } };
    using call = new OpenCall(this.deps, options);
    const earlier = this.#tails.get(tag) ?? Promise.resolve();
    this.#quota.add(1, bytes);
    const run = async () => {
      await this.#checkBySchema(tag, input.payload, call);
      await call.wait(earlier, 'earlier writes to its tag got no reply');
      this.#checkFence();
      return await this.#send(write, call);
    };
    const running = run();
    // It takes its place in the queue of its tag at once.
    const tail = Promise.allSettled([earlier, running]).then(() => {
      if (this.#tails.get(tag) === tail) this.#tails.delete(tag);
    });
    this.#tails.set(tag, tail);
    try {
      return await running;
    } finally {
      this.#quota.add(-1, bytes);
    }
  }

  /** The input is stored: the output would be transformed again when it is read. Some schemas modify their input. */
  async #checkBySchema(tag: string, payload: WriteInput['payload'], call: OpenCall): Promise<void> {
    const schema = this.deps.states.tags.get(tag)?.schema;
    if (schema === undefined || payload === undefined) return;
    const checking = async () => schema['~standard'].validate(structuredClone(payload));
    const { issues } = await call.wait(
      checking(),
      'the schema did not finish validating the payload',
    );
    if (issues !== undefined) throw payloadRefusal(issues);
  }

  async #send(write: CheckedWrite, call: OpenCall): Promise<SetStateResult> {
    const { store, logger, observer } = this.deps;
    try {
      const result = await call.send((options) => store.setState(write, { ...options, observer }));
      this.#isFailing = false;
      return result;
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      const { tag, taskId, epoch, eventId } = write;
      const fields = { tag, taskId, epoch, eventId, error: thrown.code };
      if (thrown.code === 'fenced') this.#fence(thrown, fields);
      else if (thrown.retryable) {
        if (!this.#isFailing) logger.error('🔴 setState failed, or its outcome is unknown', fields);
        this.#isFailing = true;
      }
      throw thrown;
    }
  }

  /** Returns a copy, so that later changes by the caller have no effect. */
  #checked(input: WriteInput): CheckedWrite {
    const { taskId } = this;
    const { jobId, incarnation } = this.info;
    checkKnownKeys(input, 'the write', CONTENT_KEYS);
    const own = { jobId, taskId };
    for (const name of ['jobId', 'taskId'] as const) {
      if (input[name] === undefined || input[name] === own[name]) continue;
      const wanted = `${own[name]}, that of the manager: a task writes only its own states`;
      throw invalidArgument(name, input[name], wanted);
    }
    const { states, random } = this.deps;
    this.#checkDeclared(input.tag);
    const { message = '', schemaVersion = states.tags.get(input.tag)?.schemaVersion ?? 1 } = input;
    return checkStateWrite({
      ...input,
      ...{ jobId, incarnation, taskId, epoch: this.#claim.epoch, message, schemaVersion },
      status: this.#statusOf(input.status),
      eventId: input.eventId ?? Buffer.from(random.bytes(EVENT_ID_BYTES)).toString('hex'),
    } as StateWrite);
  }
}

/** An empty message counts as none. Without types, `write` may be missing: `setState` refuses that. */
function messageOr(usual: string, write: HelperInput | undefined): string {
  const message = write?.message;
  return message === undefined || message === '' ? usual : message;
}

/** A tag alone instead of `{ tag }` is refused later: spreading it would give its letters. */
function withStatus(write: HelperInput, status: number, message: string): WriteInput {
  return typeof write === 'string' ? write : { ...write, status, message };
}
