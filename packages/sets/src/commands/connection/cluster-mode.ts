// READONLY and READWRITE belong to Redis Cluster, which this is not.
import type { Command } from '../command.js';
import { errorTexts } from '../errors.js';

export const readonly: Command = clusterModeCommand('readonly');
export const readwrite: Command = clusterModeCommand('readwrite');

function clusterModeCommand(name: string): Command {
  return {
    name,
    arity: 1,
    flags: ['loading', 'stale', 'fast'],
    group: 'connection',
    summary: 'Answers that cluster support is disabled, as Redis does outside a cluster.',
    run: ({ reply }) => reply.error(errorTexts.clusterDisabled),
  };
}
