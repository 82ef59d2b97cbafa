// The fetch handler behind Node's own HTTP server, with the few lines that such a bridge takes.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createSystemRandom } from '@syncline/kernel';
import { afterEach, expect, test, vi } from 'vitest';
import { createFairTracker } from '../tracker.js';
import { addressKey } from './address-key.js';
import { type FetchHandler, withFair } from './fetch-handler.js';

const random = { ...createSystemRandom(), float: () => 0.99 };

interface Peer {
  readonly address: string | undefined;
}

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function serve(handler: FetchHandler<[Peer]>): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    bridge(handler, incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function bridge(
  handler: FetchHandler<[Peer]>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const request = new Request(`http://${incoming.headers.host}${incoming.url}`);
  const response = await handler(request, { address: incoming.socket.remoteAddress });
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) outgoing.end();
  else await pipeline(Readable.fromWeb(response.body), outgoing);
}

test('F40 over sockets: streamed answers pass through whole, then the peer is throttled', async () => {
  const tracker = createFairTracker({ lambdaPerSecond: 0 }, { random });
  const report = vi.spyOn(tracker, 'report');
  const stream = () =>
    new Response(
      new Blob(['first ', 'second'])
        .stream()
        .pipeThrough(new TextDecoderStream())
        .pipeThrough(new TextEncoderStream()),
    );
  const url = await serve(
    withFair<[Peer]>(tracker, stream, {
      keyGenerator: (_request, peer) => addressKey(peer.address),
    }),
  );
  expect(await (await fetch(url)).text()).toBe('first second');
  expect(report.mock.calls).toEqual([['127.0.0.1', 'success', { cost: 1 }]]);
  for (let failures = 0; failures < 30; failures += 1) tracker.report('127.0.0.1', 'failure');
  const refused = await fetch(url);
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('30');
  expect(refused.headers.get('content-type')).toBe('application/problem+json');
});
