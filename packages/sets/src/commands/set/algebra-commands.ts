// SINTER, SUNION, SDIFF and their STORE forms differ only in the rule, so they are made from it here. Each
// command has its own file with what it says about itself.
import { SynclineError } from '@syncline/kernel';
import type { ByteList } from '../../byte-list.js';
import type { KeyspaceView } from '../../keyspace.js';
import { setsLimits } from '../../limits.js';
import { ByteCollector } from '../byte-collector.js';
import { ChangeBuffer } from '../change-buffer.js';
import type { Command, CommandContext } from '../command.js';
import { errorTexts } from '../errors.js';
import { withGateAndView, withView, writeBulks } from '../long-work.js';
import { refusesKeys } from '../name-limits.js';
import { inOneOperation } from '../one-operation.js';
import { walksSets } from '../walks.js';
import { resultAtHand } from './algebra-at-hand.js';
import { resultOfView } from './algebra-of-view.js';
import type { SetRule } from './ordered-merge.js';

type Behaviour = Pick<Command, 'walks' | 'run' | 'runLong'>;

/** Answers with the members of the result. */
export function algebraBehaviour(rule: SetRule): Behaviour {
  return {
    walks: (args) => walksSets(args, 1, args.length),
    run({ args, keyspace, reply }) {
      if (refusesKeys(args, reply, 1, args.length)) return;
      const result = resultAtHand(keyspace, rule, { args, from: 1, to: args.length });
      if (result === undefined) {
        reply.error(errorTexts.resultTooLarge);
        return;
      }
      const { list, membersFrom } = result;
      reply.set(list.length - membersFrom);
      for (let index = membersFrom; index < list.length; index += 1) reply.bulkOf(list, index);
    },
    async runLong(context, signal) {
      const { args, keyspace, reply } = context;
      if (refusesKeys(args, reply, 1, args.length)) return;
      const list = await withView(keyspace, signal, (view) => collect(rule, context, view));
      if (list === undefined) {
        reply.error(errorTexts.resultTooLarge);
        return;
      }
      reply.set(list.length);
      await writeBulks(context, list);
    },
  };
}

/** Puts the result in the place of a set, and answers with its size. */
export function storeBehaviour(rule: SetRule): Behaviour {
  return {
    walks: (args) => walksSets(args, 1, args.length),
    run({ args, keyspace, reply }) {
      if (refusesKeys(args, reply, 1, args.length)) return;
      const result = resultAtHand(keyspace, rule, { args, from: 2, to: args.length });
      if (result === undefined)
        throw new SynclineError('limit-exceeded', 'the result does not fit into one operation');
      const words = new ByteCollector();
      const destination = words.push(args.buffer, args.start(1), args.end(1));
      const { list, membersFrom } = result;
      for (let index = membersFrom; index < list.length; index += 1)
        words.push(list.buffer, list.start(index), list.end(index));
      inOneOperation(keyspace, () => {
        keyspace.clear(args, 1);
        if (words.list.length > 1) keyspace.add(words.list, destination, 1);
      });
      reply.integer(words.list.length - 1);
    },
    async runLong({ args, keyspace, reply }, signal) {
      if (refusesKeys(args, reply, 1, args.length)) return;
      const destination = args.bytes(1);
      const stored = await withGateAndView(keyspace, signal, async (hold, view) => {
        const changes = new ChangeBuffer({ keyspace, hold });
        const names = namesOf(args, 2);
        await changes.removeAll(view, destination);
        for await (const batch of resultOfView(rule, { keyspace, view, names })) {
          for (const member of batch) await changes.push('add', destination, member);
          await keyspace.breathe();
        }
        await changes.finish();
        return changes.added;
      });
      reply.integer(stored);
    },
  };
}

/** Undefined: the result is larger than a reply may be. */
async function collect(
  rule: SetRule,
  { args, keyspace }: CommandContext,
  view: KeyspaceView,
): Promise<ByteList | undefined> {
  const names = namesOf(args, 1);
  const words = new ByteCollector();
  const isRepeating = rule === 'union' && args.length - 1 > setsLimits.mergedSetsMax.value;
  const seen = new Set<string>();
  for await (const batch of resultOfView(rule, { keyspace, view, names })) {
    for (const member of batch) {
      const index = words.pushBytes(member);
      if (isRepeating && seen.size === seen.add(words.list.text(index)).size) words.drop();
    }
    if (words.bytes > setsLimits.resultBytesMax.value) return undefined;
    await keyspace.breathe();
  }
  return words.list;
}

export function* namesOf(
  args: ByteList,
  from: number,
  to = args.length,
): Generator<Uint8Array, void, undefined> {
  for (let index = from; index < to; index += 1) yield args.bytes(index);
}
