// Errors that several sources or sinks throw, so that code, message and details are consistent.
import { SynclineError } from '@syncline/kernel';
import { partitionName } from './partition-name.js';
import type { Fence, SinkMark } from './sink.js';
import type { Json } from './source.js';

export function optionMissing(where: string, field: string, wanted: string): SynclineError {
  const message = `${where} needs the option ${field}: ${wanted}`;
  return new SynclineError('invalid-argument', message, { details: { field } });
}

export interface LostPosition {
  readonly uid: string;
  readonly partition: string;
  readonly position: Json;
  /** What the source has instead, as a clause: `the stream begins at 17-0`. */
  readonly found: string;
}

export function positionLost({ uid, partition, position, found }: LostPosition): SynclineError {
  return new SynclineError(
    'position-lost',
    `${partitionName(uid, partition)} cannot be continued after ${JSON.stringify(position)}: ${found}. ` +
      `Restore the missing data, start over in a new directory, or accept the loss with acceptLoss: ["${partition}"].`,
    { details: { uid, partition, position, found } },
  );
}

/** Wraps an error of a target or callback, which may have taken effect nevertheless. */
export function unknownOutcome(uid: string, thrown: unknown): SynclineError {
  if (thrown instanceof SynclineError) return thrown;
  const { code, message } = SynclineError.from(thrown);
  return new SynclineError(code, `sink "${uid}": ${message}`, {
    outcome: 'unknown',
    cause: thrown,
  });
}

/** What a target stores about its writer. */
export interface StoredFence {
  readonly pipeline: string;
  readonly generation: number;
  readonly token: string;
}

/** Throws `conflict` for another pipeline, and `fenced` if the stored fence is newer, or belongs to a copy. */
export function checkFence(uid: string, stored: StoredFence, fence: Fence): void {
  if (stored.pipeline !== fence.pipeline) throw foreignPipeline(uid, stored.pipeline, fence);
  const isOlder = fence.generation < stored.generation;
  const isCopy = fence.generation === stored.generation && fence.token !== stored.token;
  if (isOlder || isCopy) throw fenced(uid, stored.generation, fence);
}

function foreignPipeline(uid: string, found: string, fence: Fence): SynclineError {
  return new SynclineError(
    'conflict',
    `sink "${uid}": the target belongs to pipeline ${found}, and this is ${fence.pipeline}. ` +
      'Give each pipeline its own target, or clear the target if it is no longer needed.',
    { details: { reason: 'other-pipeline', uid, found, pipeline: fence.pipeline } },
  );
}

function fenced(uid: string, found: number, fence: Fence): SynclineError {
  const why =
    found === fence.generation
      ? 'a process that runs on a copy of this directory has written to the target, or this directory has lost ' +
        'its latest record. Stop this process. If no other one runs, restore the newest backup of the directory, ' +
        'or start over from a savepoint.'
      : `generation ${found} has written to the target. Stop this process; the newer one continues.`;
  return new SynclineError(
    'fenced',
    `sink "${uid}" refuses generation ${fence.generation}: ${why}`,
    { details: { uid, generation: fence.generation, found } },
  );
}

/** Something other than this pipeline has written to the target. */
export function foreignOutput(uid: string, what: string): SynclineError {
  return new SynclineError(
    'conflict',
    `sink "${uid}": ${what}. The target must be written by this pipeline alone; ` +
      'move the foreign data away, or choose another target.',
    { details: { reason: 'foreign-output', uid } },
  );
}

/** The target has lost output that it had acknowledged, for example Redis the last second of its AOF. */
export function lostOutput(uid: string, held: SinkMark | null, epoch: number): SynclineError {
  return new SynclineError(
    'out-of-step',
    `sink "${uid}": the target holds output up to epoch ${held?.epoch ?? 0}, ` +
      `but had acknowledged more before epoch ${epoch}. Start the pipeline again: it delivers what it has retained.`,
    { details: { uid, sinkEpoch: held?.epoch ?? 0, storeEpoch: epoch } },
  );
}
