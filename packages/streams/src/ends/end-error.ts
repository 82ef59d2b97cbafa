// The errors of sources and sinks that several of them raise, so that code, message and details agree.
import { SynclineError } from '@syncline/kernel';
import type { Fence, SinkMark } from './sink.js';
import type { Json } from './source.js';

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
    `source "${uid}" cannot continue partition "${partition}" behind ${JSON.stringify(position)}: ${found}. ` +
      `Restore the missing data, start over in a new directory, or accept the loss with acceptLoss: ["${partition}"].`,
    { details: { uid, partition, position, found } },
  );
}

/** What a target remembers of its writer. */
export interface StoredFence {
  readonly pipeline: string;
  readonly generation: number;
  readonly token: string;
}

/** Throws `conflict` for another pipeline, and `fenced` unless `fence` is newer than or equal to the stored one. */
export function checkFence(uid: string, stored: StoredFence, fence: Fence): void {
  if (stored.pipeline !== fence.pipeline) throw foreignPipeline(uid, stored.pipeline, fence);
  const isOlder = fence.generation < stored.generation;
  const isCopy = fence.generation === stored.generation && fence.token !== stored.token;
  if (isOlder || isCopy) throw fenced(uid, stored.generation, fence);
}

export function foreignPipeline(uid: string, found: string, fence: Fence): SynclineError {
  return new SynclineError(
    'conflict',
    `sink "${uid}": the target belongs to pipeline ${found}, and this is ${fence.pipeline}. ` +
      'Give each pipeline a target of its own, or clear the target if it is no longer needed.',
    { details: { reason: 'other-pipeline', uid, found, pipeline: fence.pipeline } },
  );
}

export function fenced(uid: string, found: number, fence: Fence): SynclineError {
  const why =
    found === fence.generation
      ? 'a process that runs on a copy of this directory has written to the target'
      : `generation ${found} has written to the target`;
  return new SynclineError(
    'fenced',
    `sink "${uid}" refuses generation ${fence.generation}: ${why}. Stop this process; the newer one goes on.`,
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

/** The target has lost output that it had acknowledged, such as Redis without its last second of AOF. */
export function lostOutput(uid: string, held: SinkMark | null, epoch: number): SynclineError {
  return new SynclineError(
    'out-of-step',
    `sink "${uid}": the target holds output up to epoch ${held?.epoch ?? 0}, ` +
      `but had acknowledged more before epoch ${epoch}. Start the pipeline again: it delivers what it has retained.`,
    { details: { uid, sinkEpoch: held?.epoch ?? 0, storeEpoch: epoch } },
  );
}
