// ROLE: every node takes writes, so each is a master without replicas in the words of Redis.
import type { Command } from '../command.js';

export const role: Command = {
  name: 'role',
  arity: 1,
  flags: ['noscript', 'loading', 'stale', 'fast'],
  group: 'server',
  summary: 'Answers `master`.',
  difference: 'Every node is a master; the state of peers stands in INFO.',
  run({ reply }) {
    reply.array(3);
    reply.bulkText('master');
    reply.integer(0);
    reply.array(0);
  },
};
