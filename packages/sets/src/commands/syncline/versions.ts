// SYNCLINE.VV and SYNCLINE.DIGEST, and versions as text: `node.epoch:counter,…` in any order, or `-` for none.
import { actorId, dot, formatDot, kernelLimits, VersionVector } from '@syncline/kernel';
import { type Command, type CommandContext, commandsIn } from '../command.js';
import { errorFor, errorTexts } from '../errors.js';
import { isOption } from '../words.js';

const define = commandsIn('syncline');
const ENTRY = /^([0-9]{1,5})\.([0-9]{1,5}):([0-9]{1,16})$/;
const NUMBER_16_MAX = 0xffff;
const entriesMax = kernelLimits.versionVectorEntriesMax.value;

const vv = define('syncline.vv', -1, ['readonly', 'fast'], {
  syntax: '[MINE]',
  summary:
    'Returns the version vector of this node, for SYNCLINE.READ AFTER; with MINE the smallest one that covers the writes of this connection.',
  run(context) {
    const { args, keyspace, reply } = context;
    if (args.length === 1) reply.bulkText(keyspace.version().toString());
    else if (args.length === 2 && isOption(args, 1, 'mine')) reply.bulkText(ownVersion(context));
    else reply.error(errorTexts.syntax);
  },
});

/** The counter of an operation that was undone is taken back, and must not be waited for. */
function ownVersion({ client, facts, keyspace }: CommandContext): string {
  const counter = Math.min(client.lastCounter, keyspace.lastCounter());
  return counter === 0 ? '-' : formatDot(dot(actorId(facts.nodeId, facts.epoch()), counter));
}

const digest = define('syncline.digest', 1, ['readonly', 'fast'], {
  summary:
    'Returns the version, the number of live dots, and their xor as 16 hex digits. Nodes with the same sets return the same.',
  run({ keyspace, reply }) {
    const { version, liveDots, xor } = keyspace.digest();
    reply.array(3);
    reply.bulkText(version.toString());
    reply.integer(liveDots);
    reply.bulkText(formatXor(xor));
  },
});

export function formatXor(words: readonly [number, number]): string {
  return words.map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

/** A text is the error to answer with. */
export function parseVersion(text: string): VersionVector | string {
  if (text === '-') return new VersionVector();
  const entries = text.split(',');
  if (entries.length > entriesMax) return errorTexts.versionTooLong;
  const dots = [];
  for (const entry of entries) {
    const [, node, epoch, counter] = (ENTRY.exec(entry) ?? []).map(Number);
    if (node === undefined || epoch === undefined || counter === undefined)
      return errorTexts.versionInvalid;
    const isActor = node >= 1 && node <= NUMBER_16_MAX && epoch <= NUMBER_16_MAX;
    if (!isActor || counter < 1 || !Number.isSafeInteger(counter))
      return errorFor.versionEntry(entry);
    dots.push(dot(actorId(node, epoch), counter));
  }
  return VersionVector.of(...dots);
}

export const versionCommands: readonly Command[] = [digest, vv];
