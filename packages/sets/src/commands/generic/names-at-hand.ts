// The sets that there are, inside a transaction: those of the names handed to it that have members by now.
import { assert } from '@syncline/kernel';
import { ByteList } from '../../byte-list.js';
import type { CommandContext } from '../command.js';

/** Each name once. */
export function namesAtHand({ keyspace, setNames }: CommandContext): readonly Uint8Array[] {
  assert(
    setNames !== undefined,
    'a command that walks the keyspace runs within a transaction only',
  );
  const names = new Map<string, Uint8Array>();
  for (const name of setNames) {
    const args = ByteList.of(name);
    if (keyspace.cardinality(args, 0) > 0) names.set(args.text(0), name);
  }
  return [...names.values()];
}
