// KEYS pattern: the names of all sets that match.
import { setsLimits } from '../../limits.js';
import { ByteCollector } from '../byte-collector.js';
import type { Command } from '../command.js';
import { errorTexts } from '../errors.js';
import { Glob } from '../glob.js';
import { withView, writeBulks } from '../long-work.js';
import { walksKeyspace } from '../walks.js';
import { namesAtHand } from './names-at-hand.js';

export const keys: Command = {
  name: 'keys',
  arity: 2,
  flags: ['readonly'],
  group: 'generic',
  syntax: 'pattern',
  summary: 'Shows the names of all sets that match a pattern.',
  difference: 'Names of more than 32 MiB together are refused: use SCAN.',
  walks: () => walksKeyspace,
  run(context) {
    const { args, patternMeter, reply } = context;
    const glob = new Glob(args.bytes(1), patternMeter);
    const names = namesAtHand(context).filter((name) => glob.matches(name, 0, name.length));
    reply.array(names.length);
    for (const name of names) reply.bulk(name, 0, name.length);
  },
  async runLong(context, signal) {
    const { args, keyspace, reply } = context;
    const glob = new Glob(args.bytes(1));
    const words = new ByteCollector();
    const isWithin = await withView(keyspace, signal, async (view) => {
      for await (const batch of view.sets()) {
        for (const name of batch) {
          if (glob.matches(name, 0, name.length)) words.pushBytes(name);
          if (!glob.meter.isTired) continue;
          await keyspace.breathe();
          glob.meter.rest();
        }
        if (words.bytes > setsLimits.resultBytesMax.value) return false;
        await keyspace.breathe();
      }
      return true;
    });
    if (!isWithin) return reply.error(errorTexts.keysTooLarge);
    reply.array(words.list.length);
    await writeBulks(context, words.list);
  },
};
