// What is shown when the local cluster is up.
import type { ListenerName, ListeningAddress } from '@syncline/server';
import { renderColumns } from '../columns.js';
import type { Paint } from '../paint.js';
import { redisHint } from '../serve/redis-hint.js';
import type { StatusHint } from '../serve/status-hint.js';
import { renderHints, urlOf } from '../serve/welcome.js';

export interface DevWelcomeFacts {
  readonly version: string;
  readonly directory: string;
  readonly isKept: boolean;
  readonly isTls: boolean;
  /** Redis clients must send one. */
  readonly hasPassword: boolean;
  readonly nodes: readonly {
    readonly nodeId: number;
    readonly listeners: readonly ListeningAddress[];
  }[];
  readonly hints: readonly StatusHint[];
}

export function renderDevWelcome(facts: DevWelcomeFacts, paint: Paint): string {
  const { nodes, isTls } = facts;
  const names = (['http', 'grpc', 'resp', 'mesh'] as const).filter((name) =>
    nodes.some(({ listeners }) => listeners.some(({ listener }) => listener === name)),
  );
  const rows = nodes.map(({ nodeId, listeners }) => [
    String(nodeId),
    ...names.map((name) => paint('cyan', shownAddress(listeners, name, isTls))),
  ]);
  const count = nodes.length === 1 ? 'one node' : `${nodes.length} nodes`;
  const data = `Data in ${facts.directory}${facts.isKept ? '' : ', removed on exit'}.`;
  return [
    `\n${paint('bold', `Syncline ${facts.version}`)}, ${count} on this machine.\n${data}\n\n`,
    renderColumns([['node', ...names].map((title) => paint('dim', title)), ...rows], '  '),
    '\nTry in another terminal:\n',
    renderHints(facts.hints, paint),
    renderHints(redisHint(nodes[0]?.listeners ?? [], nodes[1]?.listeners, facts), paint),
    nodes.length === 1
      ? ''
      : '\nThe sets are replicated: what you write on one node can be read on all of them.\n',
    `\n${paint('dim', 'Press Ctrl-C to stop.')}\n\n`,
  ].join('');
}

function shownAddress(
  listeners: readonly ListeningAddress[],
  name: ListenerName,
  isTls: boolean,
): string {
  const found = listeners.find(({ listener }) => listener === name);
  return found === undefined ? '' : urlOf(found, isTls);
}
