// One connection as a line of CLIENT LIST: words of the form key=value, those of Redis that have a meaning here.
import { formatAddress } from '@syncline/kernel';
import type { Client } from '../../client.js';
import { DEFAULT_USER } from '../authenticate.js';

/** `nowMs` is monotonic. It ends with a line feed. One template, as there may be ten thousand lines. */
export function clientLine(client: Client, nowMs: number): string {
  const age = secondsBetween(client.connectedAtMs, nowMs);
  const idle = secondsBetween(client.lastActiveMs, nowMs);
  const multi = client.queued?.length ?? -1;
  const command = client.lastCommand === '' ? 'NULL' : client.lastCommand;
  return (
    `id=${client.id} addr=${formatAddress(client.address)} name=${client.name} age=${age} idle=${idle} ` +
    `flags=${flagsOf(client)} db=0 sub=0 psub=0 ssub=0 multi=${multi} watch=${client.watchedKeys} ` +
    `cmd=${command} user=${DEFAULT_USER} redir=-1 resp=${client.protocol} ` +
    `lib-name=${client.libraryName} lib-ver=${client.libraryVersion}\n`
  );
}

/** x: in a transaction; d: a watched key was touched; N: nothing special. */
function flagsOf({ queued, isTouched }: Client): string {
  const flags = `${queued === undefined ? '' : 'x'}${isTouched ? 'd' : ''}`;
  return flags === '' ? 'N' : flags;
}

function secondsBetween(fromMs: number, toMs: number): number {
  return Math.max(0, Math.floor((toMs - fromMs) / 1_000));
}
