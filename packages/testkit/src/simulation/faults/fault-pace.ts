// How faults wait: for a time drawn from a range, or until the faults are to stop.
import type { SimNode } from '@syncline/kernel/testing';
import type { WorkloadContext } from '../workload.js';

/** False once the faults are to stop. Short times are as likely as long ones, by order of magnitude. */
export async function pauseBetween(
  { simulation, random }: WorkloadContext,
  [fromMs, toMs]: readonly [number, number],
  signal: AbortSignal,
): Promise<boolean> {
  if (signal.aborted) return false;
  const ms = fromMs * (toMs / fromMs) ** random.float();
  await simulation.clock.sleep(ms, signal).catch(() => {}); // the signal only ends the wait
  return !signal.aborted;
}

export function pickTarget({ targets, random }: WorkloadContext): SimNode | undefined {
  return targets[Math.floor(random.float() * targets.length)];
}

/** One machine, or occasionally all of them. */
export function pickVictims(context: WorkloadContext, allProbability: number): readonly SimNode[] {
  const victim = pickTarget(context);
  const isAll = context.random.float() < allProbability;
  return isAll || victim === undefined ? context.targets : [victim];
}
