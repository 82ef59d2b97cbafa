// A version as text, back into a vector: `node.epoch:counter,…` in any order, or `-`.
import { actorId, dot, kernelLimits, VersionVector } from '@syncline/kernel';

const ENTRY = /^([0-9]{1,5})\.([0-9]{1,5}):([0-9]{1,16})$/;
const NUMBER_16_MAX = 0xffff;
const entriesMax = kernelLimits.versionVectorEntriesMax.value;

/** Undefined if it is none. */
export function parseVersion(text: string): VersionVector | undefined {
  if (text === '-') return new VersionVector();
  const entries = text.split(',');
  if (entries.length > entriesMax) return undefined;
  const dots = [];
  for (const entry of entries) {
    const [, node, epoch, counter] = (ENTRY.exec(entry) ?? []).map(Number);
    if (node === undefined || epoch === undefined || counter === undefined) return undefined;
    const isActor = node >= 1 && node <= NUMBER_16_MAX && epoch <= NUMBER_16_MAX;
    if (!isActor || counter < 1 || !Number.isSafeInteger(counter)) return undefined;
    dots.push(dot(actorId(node, epoch), counter));
  }
  return VersionVector.of(...dots);
}
