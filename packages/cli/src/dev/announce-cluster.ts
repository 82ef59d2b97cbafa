// Prints where the nodes listen: one line of JSON for each listener, or a table on a terminal.
import type { CliWorld } from '../cli-world.js';
import { paintFor } from '../paint.js';
import { type StatusHintSources, statusHint } from '../serve/status-hint.js';
import { readVersion } from '../version.js';
import { type DevWelcomeFacts, renderDevWelcome } from './dev-welcome.js';

export function announceCluster(
  world: CliWorld,
  nodes: DevWelcomeFacts['nodes'],
  options: Pick<DevWelcomeFacts, 'directory' | 'isKept'> & {
    readonly hintSources: StatusHintSources;
  },
): void {
  const { stdout, environment } = world;
  if (stdout.isTTY === true) {
    const { directory, isKept, hintSources } = options;
    const { resp, tls } = hintSources.settings;
    const { SYNCLINE_RESP_PASSWORD: password = '' } = hintSources.environment;
    const isTls = tls.certFile !== undefined;
    const hasPassword = resp.passwordFile !== undefined || password !== '';
    const hints = nodes
      .slice(0, 2)
      .flatMap(({ listeners }) => listeners.filter(({ listener }) => listener === 'http'))
      .map((http) => statusHint(http, hintSources));
    const facts = { directory, isKept, isTls, hasPassword, hints, version: readVersion(), nodes };
    stdout.write(renderDevWelcome(facts, paintFor(stdout, environment)));
    return;
  }
  for (const { nodeId, listeners } of nodes) {
    for (const { listener, host, port } of listeners)
      stdout.write(`${JSON.stringify({ node: nodeId, listener, host, port })}\n`);
  }
}
