// SYNCLINE.DIGEST: equal digests mean equal nodes.
import type { Command } from '../command.js';
import { formatXor } from './format-xor.js';

export const synclineDigest: Command = {
  name: 'syncline.digest',
  arity: 1,
  flags: ['readonly', 'fast'],
  group: 'syncline',
  summary:
    'Gives version, number of live dots and their xor as 16 hex digits: equal at equal nodes.',
  run({ keyspace, reply }) {
    const { version, liveDots, xor } = keyspace.digest();
    reply.array(3);
    reply.bulkText(version.toString());
    reply.integer(liveDots);
    reply.bulkText(formatXor(xor));
  },
};
