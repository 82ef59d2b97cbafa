// Names and members that are too long are refused before a command does anything. Reads refuse long names
// too, since such a name does not fit into a key of the storage; a long member is simply absent for them.
import type { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import type { Reply } from '../resp/reply.js';
import { errorTexts } from './errors.js';

const keyBytesMax = setsLimits.keyBytesMax.value;
const memberBytesMax = setsLimits.memberBytesMax.value;

/** True: the words from `from` up to `to` hold a name that is too long, and that was the answer. */
export function refusesKeys(args: ByteList, reply: Reply, from: number, to = from + 1): boolean {
  for (let index = from; index < to; index += 1) {
    if (args.sizeOf(index) <= keyBytesMax) continue;
    reply.error(errorTexts.keyTooLong);
    return true;
  }
  return false;
}

/** The same for members, up to the last word. */
export function refusesMembers(args: ByteList, reply: Reply, from: number): boolean {
  for (let index = from; index < args.length; index += 1) {
    if (args.sizeOf(index) <= memberBytesMax) continue;
    reply.error(errorTexts.memberTooLong);
    return true;
  }
  return false;
}

export function isMemberTooLong(args: ByteList, index: number): boolean {
  return args.sizeOf(index) > memberBytesMax;
}
