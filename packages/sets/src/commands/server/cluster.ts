// CLUSTER: this is no Redis Cluster, and clients ask to find out.
import type { Command } from '../command.js';
import { errorTexts } from '../errors.js';

export const cluster: Command = {
  name: 'cluster',
  arity: -2,
  flags: [],
  group: 'server',
  syntax: '...',
  summary: 'Answers that cluster support is disabled, as Redis does outside a cluster.',
  difference: 'The same answer to every subcommand.',
  run: ({ reply }) => reply.error(errorTexts.clusterDisabled),
};
