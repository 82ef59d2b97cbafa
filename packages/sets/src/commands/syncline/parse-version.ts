// A version as text, back into a vector: `node.epoch:counter,…` in any order, or `-`.
import { actorId, dot, kernelLimits, VersionVector } from '@syncline/kernel';
import { errorTexts, versionEntryText } from '../errors.js';

const ENTRY = /^([0-9]{1,5})\.([0-9]{1,5}):([0-9]{1,16})$/;
const NUMBER_16_MAX = 0xffff;
const entriesMax = kernelLimits.versionVectorEntriesMax.value;

/** A text says what is wrong with it. */
export function parseVersion(text: string): VersionVector | string {
  if (text === '-') return new VersionVector();
  const entries = text.split(',');
  if (entries.length > entriesMax) return errorTexts.versionTooLong;
  const dots = [];
  for (const entry of entries) {
    const [, node, epoch, counter] = (ENTRY.exec(entry) ?? []).map(Number);
    if (node === undefined || epoch === undefined || counter === undefined)
      return errorTexts.versionInvalid;
    const isActor = node >= 1 && node <= NUMBER_16_MAX && epoch <= NUMBER_16_MAX;
    if (!isActor || counter < 1 || !Number.isSafeInteger(counter)) return versionEntryText(entry);
    dots.push(dot(actorId(node, epoch), counter));
  }
  return VersionVector.of(...dots);
}
