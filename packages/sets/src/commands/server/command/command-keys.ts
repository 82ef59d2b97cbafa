// Which words of a command are its keys, as COMMAND GETKEYS tells them.
import type { ByteList } from '../../../byte-list.js';
import type { KeyPositions } from '../../command.js';
import { integerWord } from '../../integer-word.js';

/** Indices into `args`, of which the words from `from` on are the command; undefined if they make no sense. */
export function keyIndices(
  keys: KeyPositions,
  args: ByteList,
  from: number,
): readonly number[] | undefined {
  const words = args.length - from;
  if (keys.countAt !== undefined) {
    const count = integerWord(args, from + keys.countAt);
    const room = words - keys.countAt - 1;
    if (count === undefined || count < 1 || count > room) return undefined;
    return Array.from({ length: count }, (_, index) => from + (keys.countAt ?? 0) + 1 + index);
  }
  const last = keys.last < 0 ? words + keys.last : keys.last;
  const indices: number[] = [];
  for (let index = keys.first; index <= last; index += keys.step) indices.push(from + index);
  return indices;
}
