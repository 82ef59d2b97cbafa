// DEL and UNLINK are one and the same here: a remove of every member that this node sees. All sets go in one
// operation, unless that would be too large for one.

import { ChangeBuffer } from '../change-buffer.js';
import type { Command } from '../command.js';
import { withGateAndView } from '../long-work.js';
import { refusesKeys } from '../name-limits.js';
import { inOneOperation } from '../one-operation.js';
import { clearsSets } from '../walks.js';

export const deleteBehaviour: Pick<Command, 'walks' | 'run' | 'runLong'> = {
  walks: (args) => clearsSets(args, 1, args.length),
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, 1, args.length)) return;
    let deleted = 0;
    inOneOperation(keyspace, () => {
      for (let key = 1; key < args.length; key += 1)
        if (keyspace.clear(args, key) > 0) deleted += 1;
    });
    reply.integer(deleted);
  },
  async runLong({ args, keyspace, reply }, signal) {
    if (refusesKeys(args, reply, 1, args.length)) return;
    const deleted = await withGateAndView(keyspace, signal, async (hold, view) => {
      const changes = new ChangeBuffer({ keyspace, hold });
      const seen = new Set<string>();
      let count = 0;
      for (let key = 1; key < args.length; key += 1) {
        const set = args.bytes(key);
        await keyspace.breathe();
        if (view.cardinality(set) === 0 || seen.size === seen.add(args.text(key)).size) continue;
        count += 1;
        await changes.removeAll(view, set);
      }
      await changes.finish();
      return count;
    });
    reply.integer(deleted);
  },
};
