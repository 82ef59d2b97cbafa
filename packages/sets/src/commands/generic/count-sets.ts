// EXISTS and TOUCH: how many of the named sets there are; one that is named twice counts twice. Nothing is
// kept about the last use of a set that a client could see, so touching one is asking for it.

import type { Command } from '../command.js';
import { withView } from '../long-work.js';
import { refusesKeys } from '../name-limits.js';
import { walksNames } from '../walks.js';

export const countBehaviour: Pick<Command, 'walks' | 'run' | 'runLong'> = {
  walks: (args) => walksNames(args, 1),
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, 1, args.length)) return;
    let found = 0;
    for (let key = 1; key < args.length; key += 1)
      if (keyspace.cardinality(args, key) > 0) found += 1;
    reply.integer(found);
  },
  async runLong({ args, keyspace, reply }, signal) {
    if (refusesKeys(args, reply, 1, args.length)) return;
    const found = await withView(keyspace, signal, async (view) => {
      let count = 0;
      for (let key = 1; key < args.length; key += 1) {
        if (view.cardinality(args.bytes(key)) > 0) count += 1;
        const pause = keyspace.breathe();
        if (pause !== undefined) await pause;
      }
      return count;
    });
    reply.integer(found);
  },
};
