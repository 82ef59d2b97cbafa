// What is shown when the server is up: its addresses, and commands to paste.
import type { ListenerName, ListeningAddress } from '@syncline/server';
import { renderColumns } from '../columns.js';
import { bracketed, httpUrl } from '../own-url.js';
import type { Paint } from '../paint.js';
import { redisHint } from './redis-hint.js';
import type { StatusHint } from './status-hint.js';

export interface WelcomeFacts {
  readonly version: string;
  readonly nodeId: number;
  /** Undefined if data is kept in memory only. */
  readonly dataDir: string | undefined;
  readonly isTls: boolean;
  /** Redis clients must send one. */
  readonly hasPassword: boolean;
  readonly listeners: readonly ListeningAddress[];
  /** Undefined without HTTP. */
  readonly hint: StatusHint | undefined;
}

const PURPOSES: Readonly<Record<ListenerName, string>> = {
  http: 'dashboard, API, metrics, health',
  grpc: 'services, health, reflection',
  resp: 'any Redis client',
  mesh: 'peers',
};

export function renderWelcome(facts: WelcomeFacts, paint: Paint): string {
  const { listeners } = facts;
  const data = facts.dataDir === undefined ? 'in memory, lost on exit' : `in ${facts.dataDir}`;
  const rows = listeners.map((one) => [
    one.listener,
    paint('cyan', urlOf(one, facts.isTls)),
    paint('dim', PURPOSES[one.listener]),
  ]);
  return [
    `\n${paint('bold', `Syncline ${facts.version}`)}, node ${facts.nodeId}, data ${data}\n\n`,
    renderColumns(rows, '  '),
    '\nTry in another terminal:\n',
    renderHints(facts.hint === undefined ? [] : [facts.hint], paint),
    renderHints(redisHint(listeners, undefined, facts), paint),
    `\n${paint('dim', 'Press Ctrl-C to stop.')}\n\n`,
  ].join('');
}

/** All commands for a server have the same remarks, so these are printed once. */
export function renderHints(hints: readonly StatusHint[], paint: Paint): string {
  const remarks = hints[0]?.remarks ?? [];
  return [
    ...hints.map(({ command }) => `  ${paint('green', command)}\n`),
    ...remarks.map((remark) => `    ${paint('dim', remark)}\n`),
  ].join('');
}

/** A URL for HTTP, otherwise host and port. */
export function urlOf({ listener, host, port }: ListeningAddress, isTls: boolean): string {
  return listener === 'http' ? httpUrl(host, port, isTls) : `${bracketed(host)}:${port}`;
}
