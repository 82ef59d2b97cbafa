// FLUSHALL and FLUSHDB: a remove of every member of every set that this node sees. There is one database, so
// both do the same; ASYNC and SYNC are taken, and either way others go on reading meanwhile.
import { SynclineError } from '@syncline/kernel';
import { ByteList } from '../../byte-list.js';
import { ChangeBuffer } from '../change-buffer.js';
import type { Command } from '../command.js';
import { errorTexts } from '../errors.js';
import { withGateAndView } from '../long-work.js';
import { inOneOperation } from '../one-operation.js';
import { isOption } from '../option-word.js';
import { clearsKeyspace, walksNothing } from '../walks.js';
import { namesAtHand } from './names-at-hand.js';

export const flushBehaviour: Pick<Command, 'walks' | 'run' | 'runLong'> = {
  walks: (args) => (isValid(args) ? clearsKeyspace : walksNothing),
  run(context) {
    const { args, keyspace, reply } = context;
    if (!isValid(args)) return reply.error(errorTexts.syntax);
    inOneOperation(keyspace, () => {
      for (const name of namesAtHand(context)) {
        const set = ByteList.of(name);
        if (!keyspace.isWhole(set, 0))
          throw new SynclineError('limit-exceeded', 'a set does not fit into memory');
        keyspace.clear(set, 0);
      }
    });
    reply.simple('OK');
  },
  async runLong({ keyspace, reply }, signal) {
    await withGateAndView(keyspace, signal, async (hold, view) => {
      const changes = new ChangeBuffer({ keyspace, hold });
      for await (const batch of view.sets()) {
        for (const set of batch) await changes.removeAll(view, set);
      }
      await changes.finish();
    });
    reply.simple('OK');
  },
};

function isValid(args: ByteList): boolean {
  if (args.length === 1) return true;
  return args.length === 2 && (isOption(args, 1, 'async') || isOption(args, 1, 'sync'));
}
