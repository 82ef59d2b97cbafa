// The sets that there are, inside a transaction: those of the names handed to it that have members by now.
import { assert } from '@syncline/kernel';
import { ByteList } from '../../byte-list.js';
import type { CommandContext } from '../command.js';

export function namesAtHand({ keyspace, setNames }: CommandContext): readonly Uint8Array[] {
  assert(
    setNames !== undefined,
    'a command that walks the keyspace runs within a transaction only',
  );
  return setNames.filter((name) => keyspace.cardinality(ByteList.of(name), 0) > 0);
}
