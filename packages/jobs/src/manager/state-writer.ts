// Sends the states of one task: checked, in the order of the calls for each tag, and repeated under the same
// event id until the store has answered.
//
// J2   A write keeps its event id over all attempts, so that it makes at most one version.
// J13  Once the store says `fenced`, nothing more is sent.
import { SynclineError } from '@syncline/kernel';
import { type CheckedWrite, checkStateWrite } from '../checks/checked-write.js';
import { invalidArgument, refuseUnless } from '../checks/refuse.js';
import type { CallOptions, SetStateResult } from '../job-store.js';
import { checkPayloadBySchema } from '../payload/check-payload.js';
import type { StatusNames } from '../payload/state-reader.js';
import type { TagSchema, TagSchemas } from '../payload/tag-schemas.js';
import { timedWrite } from '../timed-write.js';
import type { JobAccess } from './job-access.js';
import type { TagWrite } from './job-manager.js';
import { KeyOrder } from './key-order.js';

const EVENT_ID_BYTES = 16;

/** A write before its types are known to hold: JavaScript callers may pass anything. */
export type WriteInput = TagWrite<TagSchemas, string> &
  Readonly<{ status: number | string; message?: string; ifVersion?: number | undefined }>;

/** Told what the store has answered, of each attempt. */
type Refused = (error: unknown) => void;

export interface StateWriterOptions {
  readonly taskId: number;
  readonly epoch: number;
  readonly tags: TagSchemas;
  readonly statuses: StatusNames;
}

export class StateWriter {
  readonly #access: JobAccess;
  readonly #options: StateWriterOptions;
  readonly #tags: ReadonlyMap<string, TagSchema>;
  readonly #statuses: ReadonlyMap<string, number>;
  readonly #order = new KeyOrder();

  constructor(access: JobAccess, options: StateWriterOptions) {
    this.#access = access;
    this.#options = options;
    this.#tags = new Map(Object.entries(options.tags));
    this.#statuses = new Map(Object.entries(options.statuses));
  }

  write(input: WriteInput, call: CallOptions = {}): Promise<SetStateResult> {
    const { states } = this.#access;
    return timedWrite(this.#access, async () => {
      const result = await this.#counted((refused) => this.#checkAndSend(input, call, refused));
      if (!result.applied) return { ...result, current: await states.read(result.current) };
      return { ...result, state: await states.read(result.state) };
    });
  }

  /** The store counts what it refuses. What it never hears of, as a timeout or a bad payload, is counted here. */
  async #counted<T>(send: (refused: Refused) => Promise<T>): Promise<T> {
    const { sharedObserver } = this.#access;
    let refusalCode: string | undefined;
    try {
      return await send((error) => {
        refusalCode = error instanceof SynclineError ? error.code : undefined;
      });
    } catch (thrown) {
      const isOwn = thrown instanceof SynclineError && thrown.code !== refusalCode;
      if (isOwn) sharedObserver?.add('syncline_jobs_write_errors_total', 1, { code: thrown.code });
      throw thrown;
    }
  }

  /** When all writes that were accepted have ended. */
  drained(): Promise<void> {
    return this.#order.drained();
  }

  /** The number of a status that was given as such, or by its name. */
  statusOf(status: number | string): number {
    if (typeof status !== 'string') return status;
    const known = this.#statuses.get(status);
    if (known !== undefined) return known;
    const names = [...this.#statuses.keys()].join(', ');
    throw invalidArgument(
      'status',
      status,
      `a number, or one of the statuses (${names || 'none'})`,
    );
  }

  async #checkAndSend(
    input: WriteInput,
    { signal }: CallOptions,
    refused: Refused,
  ): Promise<SetStateResult> {
    const { life } = this.#access;
    life.check();
    const write = this.#checked(input);
    const { tag } = write;
    const { payload } = input;
    const schema = this.#tags.get(tag)?.schema;
    const place = this.#order.enter(tag, write.bytes);
    try {
      if (schema !== undefined && payload !== undefined)
        await checkPayloadBySchema(schema, payload);
      await place.turn(signal);
      life.checkFence();
      return await this.#send(write, signal, refused);
    } finally {
      place.leave();
    }
  }

  async #send(
    write: CheckedWrite,
    signal: AbortSignal | undefined,
    refused: Refused,
  ): Promise<SetStateResult> {
    const { store, calls, life, logger } = this.#access;
    const { jobId, tag, taskId, epoch, eventId } = write;
    const what = `setState of tag ${JSON.stringify(tag)} in job "${jobId}"`;
    const details = { eventId };
    try {
      return await calls.run(
        { what, isWrite: true, signal, closing: life.ended, details },
        async (options) => {
          try {
            return await store.setState(write, options);
          } catch (thrown) {
            refused(thrown);
            throw thrown;
          }
        },
      );
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      const fields = { tag, taskId, epoch, eventId, error: thrown.code };
      if (thrown.code === 'fenced') {
        if (life.fence(thrown)) logger.error('🔴 a newer claim has taken over this task', fields);
      } else if (thrown.retryable) {
        logger.error('🔴 a state was not written, or nobody knows whether it was', fields);
      }
      throw thrown;
    }
  }

  /** A copy: what the caller changes afterwards is not sent. */
  #checked(input: WriteInput): CheckedWrite {
    const { job, random } = this.#access;
    const { taskId, epoch } = this.#options;
    const { tag, payload, ifVersion, durability, progress } = input;
    const wanted = 'that of the manager: a task writes only its own states';
    const isOwnTask = input.taskId === undefined || input.taskId === taskId;
    refuseUnless(isOwnTask, 'taskId', { value: input.taskId, wanted: `${taskId}, ${wanted}` });
    const isOwnJob = input.jobId === undefined || input.jobId === job.jobId;
    refuseUnless(isOwnJob, 'jobId', { value: input.jobId, wanted: `"${job.jobId}", ${wanted}` });
    return checkStateWrite({
      jobId: job.jobId,
      incarnation: job.incarnation,
      taskId,
      epoch,
      tag,
      status: this.statusOf(input.status),
      message: input.message ?? '',
      schemaVersion: input.schemaVersion ?? this.#tags.get(tag)?.schemaVersion ?? 1,
      eventId: input.eventId ?? Buffer.from(random.bytes(EVENT_ID_BYTES)).toString('hex'),
      ...(progress === undefined ? {} : { progress }),
      ...(payload === undefined ? {} : { payload }),
      ...(ifVersion === undefined ? {} : { ifVersion }),
      ...(durability === undefined ? {} : { durability }),
    });
  }
}
