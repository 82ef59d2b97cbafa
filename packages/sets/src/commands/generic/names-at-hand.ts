// The sets that there are, inside a transaction: those that it leaves alone, and those that it may change and
// that have members by now.
import { assert } from '@syncline/kernel';
import { ByteList } from '../../byte-list.js';
import type { CommandContext } from '../command.js';

export function namesAtHand({ keyspace, setNames }: CommandContext): readonly Uint8Array[] {
  assert(
    setNames !== undefined,
    'a command that walks the keyspace runs within a transaction only',
  );
  const { lasting, changing } = setNames;
  return [...lasting, ...changing.filter((name) => keyspace.cardinality(ByteList.of(name), 0) > 0)];
}
