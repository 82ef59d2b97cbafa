// What a person sees when the server is up: where everything is, and lines to paste. The first of
// them shows a result.
import type { ListenerName, ListeningAddress } from '@syncline/server';
import { renderColumns } from '../columns.js';
import type { Paint } from '../paint.js';

export interface WelcomeFacts {
  readonly version: string;
  readonly nodeId: number;
  /** Undefined when nothing is kept. */
  readonly dataDir: string | undefined;
  readonly isTls: boolean;
  readonly listeners: readonly ListeningAddress[];
}

const PURPOSES: Readonly<Record<ListenerName, string>> = {
  http: 'page, JSON, metrics, health',
  grpc: 'services, health, reflection',
  resp: 'any Redis client',
  mesh: 'peers',
};

export function renderWelcome(facts: WelcomeFacts, paint: Paint): string {
  const { listeners } = facts;
  const data = facts.dataDir === undefined ? 'in memory, gone at the end' : `in ${facts.dataDir}`;
  const rows = listeners.map((one) => [
    one.listener,
    paint('cyan', urlOf(one, facts.isTls)),
    paint('dim', PURPOSES[one.listener]),
  ]);
  const paste = linesToPaste(facts).map((line) => `  ${paint('green', line)}\n`);
  return [
    `\n${paint('bold', `Syncline ${facts.version}`)}, node ${facts.nodeId}, data ${data}\n\n`,
    renderColumns(rows, '  '),
    '\nTry in another terminal:\n',
    ...paste,
    `\n${paint('dim', 'Ctrl-C stops it.')}\n\n`,
  ].join('');
}

/** A URL where a browser or client takes one, else host and port. */
export function urlOf({ listener, host, port }: ListeningAddress, isTls: boolean): string {
  const shown = host.includes(':') ? `[${host}]` : host;
  if (listener !== 'http') return `${shown}:${port}`;
  return `${isTls ? 'https' : 'http'}://${shown}:${port}`;
}

function linesToPaste({ listeners, isTls }: WelcomeFacts): readonly string[] {
  return listeners.flatMap((one) => {
    const url = urlOf(one, isTls);
    if (one.listener === 'http') {
      const isDefault = url === 'http://127.0.0.1:7400';
      return [isDefault ? 'npx syncline status' : `npx syncline status --url ${url}`];
    }
    if (one.listener !== 'resp') return [];
    return [`redis-cli${isTls ? ' --tls' : ''} -h ${one.host} -p ${one.port} sadd fruits apple`];
  });
}
