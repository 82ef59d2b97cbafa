// The manager of one task of a job: its writes, its claim, and all that a reader can ask.
//
// J13  After `fenced` it refuses every call: another process has the task.
// J14  What concerns the whole job is written by task 0 alone, and only while its claim is the newest.
// J21  After `close()` no timer, call or subscription is left.
import { SynclineError } from '@syncline/kernel';
import { checkStatus } from '../checks/numbers.js';
import { refuseUnless } from '../checks/refuse.js';
import type { JobInfo, JobPatch, TaskLease } from '../job.js';
import type { CallOptions, JobCallOptions, SetStateResult } from '../job-store.js';
import type { StatusNames } from '../payload/state-reader.js';
import type { TagSchemas } from '../payload/tag-schemas.js';
import { JobStatus } from '../status.js';
import type { JobAccess } from './job-access.js';
import type { GlobalWrite } from './job-manager.js';
import { OpenReader } from './open-reader.js';
import { StateWriter, type WriteInput } from './state-writer.js';
import {
  errorMessage,
  FINISHED_MESSAGE,
  STARTED_MESSAGE,
  warningMessage,
} from './status-message.js';
import type { TaskClaim } from './task-claim.js';

export interface OpenManagerOptions {
  readonly taskId: number;
  readonly tags: TagSchemas;
  readonly statuses: StatusNames;
  /** How long closing waits for writes. */
  readonly timeoutMs: number;
}

type HelperInput = Omit<WriteInput, 'status' | 'ifVersion'>;
type ErrorInput = Omit<HelperInput, 'message'> & Readonly<{ status?: number | string }>;

export class OpenManager extends OpenReader {
  readonly taskId: number;
  readonly #access: JobAccess;
  readonly #claim: TaskClaim;
  readonly #writer: StateWriter;
  readonly #closeTimeoutMs: number;
  #closed: Promise<void> | undefined;

  constructor(access: JobAccess & { readonly claim: TaskClaim }, options: OpenManagerOptions) {
    super(access);
    this.taskId = options.taskId;
    this.#access = access;
    this.#claim = access.claim;
    this.#writer = new StateWriter(access, { ...options, epoch: access.claim.epoch });
    this.#closeTimeoutMs = options.timeoutMs;
  }

  setState(write: WriteInput, call?: CallOptions): Promise<SetStateResult> {
    return this.#writer.write(write, call);
  }

  setStarted(write: HelperInput, call?: CallOptions): Promise<SetStateResult> {
    const message = messageOr(STARTED_MESSAGE, write);
    return this.#writer.write({ ...write, status: JobStatus.started, message }, call);
  }

  setFinished(write: HelperInput, call?: CallOptions): Promise<SetStateResult> {
    const message = messageOr(FINISHED_MESSAGE, write);
    return this.#writer.write({ ...write, status: JobStatus.finished, message }, call);
  }

  setWarning(text: string, write: HelperInput, call?: CallOptions): Promise<SetStateResult> {
    const message = warningMessage(text);
    return this.#writer.write({ ...write, status: JobStatus.warning, message }, call);
  }

  async setError(thrown: unknown, write: ErrorInput, call?: CallOptions): Promise<SetStateResult> {
    const status = checkStatus(this.#writer.statusOf(write.status ?? JobStatus.error));
    refuseUnless(status < 0 && status !== JobStatus.warning, 'status', {
      value: status,
      wanted: 'a negative number other than −2, which is a warning',
    });
    return this.#writer.write({ ...write, status, message: errorMessage(thrown) }, call);
  }

  async heartbeat(call: CallOptions = {}): Promise<TaskLease> {
    this.#access.life.check();
    return this.#claim.renew(call);
  }

  updateJob(patch: JobPatch, call: CallOptions = {}): Promise<GlobalWrite> {
    const { store, job } = this.#access;
    return this.#writeGlobally('updateJob', call, async (options) =>
      this.#noted(await store.updateJob(job.jobId, patch, this.#meant(options))),
    );
  }

  markJobDeleted(call: CallOptions = {}): Promise<GlobalWrite> {
    const { store, job } = this.#access;
    return this.#writeGlobally('markJobDeleted', call, async (options) =>
      this.#noted(await store.markJobDeleted(job.jobId, this.#meant(options))),
    );
  }

  async deleteJob(call: CallOptions = {}): Promise<GlobalWrite> {
    const { store, job } = this.#access;
    let revision = 0;
    let hasBegun = false;
    try {
      const write = await this.#writeGlobally('deleteJob', call, async (options) => {
        hasBegun = true;
        const found = await store.getJob(job.jobId, options);
        if (found?.incarnation === job.incarnation) revision = found.revision;
        await store.deleteJob(job.jobId, this.#meant(options));
        return revision;
      });
      if (write.applied) this.#claim.abandon();
      return write;
    } catch (thrown) {
      const code = thrown instanceof SynclineError ? thrown.code : undefined;
      // `fenced`: somebody has created the name anew since an attempt arrived, or since it was looked at.
      const isGone = code === 'not-found' || (code === 'fenced' && hasBegun);
      if (!isGone) throw thrown;
      this.#claim.abandon();
      return { applied: true, revision };
    }
  }

  override close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const { life, clock } = this.#access;
    const [ended] = await Promise.allSettled([super.close()]);
    await this.#claim.stopHeartbeat();
    const timer = clock.setTimer(this.#closeTimeoutMs, () => life.end());
    await Promise.race([this.#writer.drained(), aborted(life.ended)]); // a schema may never answer
    timer.cancel();
    await this.#claim.release();
    life.end();
    if (ended.status === 'rejected') throw ended.reason;
  }

  /**
   * The store checks no epoch here, since operators have none. So the lease is renewed first: a manager whose
   * task was taken over, or whose job was created again, is fenced and changes nothing. What is sent names the
   * incarnation, so that this holds for an attempt that comes late, too.
   */
  async #writeGlobally(
    name: string,
    call: CallOptions,
    send: (options: CallOptions) => Promise<number>,
  ): Promise<GlobalWrite> {
    const { life, calls, job } = this.#access;
    life.check();
    if (this.taskId !== 0) return { applied: false, reason: 'not-task-0' };
    await this.#claim.renew(call);
    const { signal } = call;
    const what = `${name} of job "${job.jobId}"`;
    const revision = await calls.run({ what, isWrite: true, signal, closing: life.closing }, send);
    return { applied: true, revision };
  }

  #meant(options: CallOptions): JobCallOptions {
    return { ...options, incarnation: this.#access.job.incarnation };
  }

  #noted(job: JobInfo): number {
    this.noteInfo(job);
    return job.revision;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** An empty message is none. */
function messageOr(usual: string, { message = '' }: HelperInput): string {
  return message === '' ? usual : message;
}
