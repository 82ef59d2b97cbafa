// Tells where the nodes listen: one line of JSON for each listener, or a table on a terminal.
import { readVersion } from '@syncline/server';
import { type CliWorld, say } from '../cli-world.js';
import { paintFor } from '../paint.js';
import { type DevWelcomeFacts, renderDevWelcome, separateNodesText } from './dev-welcome.js';

export function announceCluster(
  world: CliWorld,
  nodes: DevWelcomeFacts['nodes'],
  facts: Pick<DevWelcomeFacts, 'directory' | 'isKept' | 'isTls'>,
): void {
  const { stdout, environment } = world;
  if (stdout.isTTY === true) {
    const welcome = { ...facts, version: readVersion(), nodes };
    stdout.write(renderDevWelcome(welcome, paintFor(stdout, environment)));
    return;
  }
  const separate = separateNodesText(nodes);
  if (separate !== undefined) say(world, separate);
  for (const { nodeId, listeners } of nodes) {
    for (const { listener, host, port } of listeners)
      stdout.write(`${JSON.stringify({ node: nodeId, listener, host, port })}\n`);
  }
}
