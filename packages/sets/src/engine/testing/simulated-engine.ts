// An engine on the ports of a simulated process, with limits so low that a few writes fill a segment.
import type { Clock, Durability, Files } from '@syncline/kernel';
import type { SimPorts } from '@syncline/kernel/testing';
import type { EngineLimits } from '../../limits.js';
import { SetsEngine } from '../engine.js';
import type { SetsState } from '../sets-state.js';
import { linesOf } from './driven-state.js';

/** A few writes per segment, about twenty per checkpoint, and several slices, blocks and appends in each checkpoint. */
export const lowLimits: Partial<EngineLimits> = {
  logSegmentBytesMax: 400,
  logReserveBytes: 1_000,
  checkpointLogBytesMin: 1_000,
  checkpointBlockBytesMax: 100,
  checkpointChunkBytes: 150,
  checkpointStepRows: 2,
  stopReplayBytesMax: 900,
};

export interface EngineChoices {
  readonly durability?: Durability;
  readonly limits?: Partial<EngineLimits>;
  /** Used instead of those of the process. */
  readonly files?: Files;
}

/** Opened, not loaded. */
async function openEngine(
  { files, clock, random, logger, metrics }: SimPorts,
  choices: EngineChoices = {},
): Promise<SetsEngine> {
  const { durability = 'buffered', limits = lowLimits } = choices;
  const engine = new SetsEngine(
    { files: choices.files ?? files, clock: tickingClock(clock), random, logger, metrics },
    { nodeId: 1, clusterId: 'test', durability, memoryBytesMax: 0, limits },
  );
  await engine.open();
  return engine;
}

export async function startEngine(ports: SimPorts, choices?: EngineChoices): Promise<SetsEngine> {
  const engine = await openEngine(ports, choices);
  await engine.load();
  return engine;
}

/** Each read of the clock takes a little time. Work in a simulation takes none, so a slice would never end. */
function tickingClock(clock: Clock): Clock {
  let elapsedMs = 0;
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => {
      elapsedMs += 0.7;
      return clock.monotonicMs() + elapsedMs;
    },
    sleep: (ms, signal) => clock.sleep(ms, signal),
    setTimer: (ms, callback) => clock.setTimer(ms, callback),
    defer: (callback) => clock.defer(callback),
  };
}

/** Everything that a restart must restore: version, digest, and each dot with its element. */
export function contentOf(state: SetsState): string {
  const { version, liveDots, xor } = state.digestNow();
  const head = `${version.toString()} ${liveDots} ${xor.join(' ')} ${state.sets.filledCount} sets`;
  return [head, ...linesOf(state)].join('\n');
}
