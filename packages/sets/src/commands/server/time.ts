// TIME: the wall clock of the server.
import type { Command } from '../command.js';

export const time: Command = {
  name: 'time',
  arity: 1,
  flags: ['loading', 'stale', 'fast'],
  group: 'server',
  summary: 'Gives the seconds since 1970 and the microseconds of the current second.',
  run({ facts, reply }) {
    const microseconds = Math.floor(facts.clock.nowMs() * 1_000);
    reply.array(2);
    reply.bulkText(String(Math.floor(microseconds / 1_000_000)));
    reply.bulkText(String(microseconds % 1_000_000));
  },
};
