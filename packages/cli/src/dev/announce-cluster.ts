// Tells where the nodes listen: one line of JSON for each listener, or a table on a terminal.
import { readVersion } from '@syncline/server';
import type { CliWorld } from '../cli-world.js';
import { paintFor } from '../paint.js';
import { type DevWelcomeFacts, renderDevWelcome } from './dev-welcome.js';

export function announceCluster(
  { stdout, environment }: CliWorld,
  nodes: DevWelcomeFacts['nodes'],
  facts: Pick<DevWelcomeFacts, 'directory' | 'isKept' | 'isTls'>,
): void {
  if (stdout.isTTY === true) {
    const welcome = { ...facts, version: readVersion(), nodes };
    stdout.write(renderDevWelcome(welcome, paintFor(stdout, environment)));
    return;
  }
  for (const { nodeId, listeners } of nodes) {
    for (const { listener, host, port } of listeners)
      stdout.write(`${JSON.stringify({ node: nodeId, listener, host, port })}\n`);
  }
}
