// A real Express server with capacity for 40 requests per second; one noisy client sends 200, three quiet ones 10 each.
// It runs three seconds without fair throttling and three with it, and prints how many requests of each client
// succeeded.
//
//   npm run example -- fair-express
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFairTracker } from '@syncline/fair';
import { fairExpress } from '@syncline/fair/express';
import express, { type RequestHandler } from 'express';

const CAPACITY_PER_SECOND = 40;
const SECONDS = 3;
const TICK_MS = 50;
/** Requests per second of each client. The quiet ones together need less than the capacity. */
const demand = { noisy: 200, quiet1: 10, quiet2: 10, quiet3: 10 };
type ClientName = keyof typeof demand;

interface Tally {
  sent: number;
  served: number;
  exhausted: number;
  throttled: number;
}

/** The protected resource: it refills evenly, and responds with 503 when it is empty. */
function createResource(): RequestHandler {
  let tokens = CAPACITY_PER_SECOND / 4;
  let refilledAt = performance.now();
  return (_request, response) => {
    const now = performance.now();
    const refill = ((now - refilledAt) / 1000) * CAPACITY_PER_SECOND;
    tokens = Math.min(CAPACITY_PER_SECOND / 4, tokens + refill);
    refilledAt = now;
    if (tokens < 1) {
      response.status(503).send('none left');
      return;
    }
    tokens -= 1;
    response.send('served');
  };
}

async function measure(guards: readonly RequestHandler[]): Promise<Map<ClientName, Tally>> {
  const app = express();
  for (const guard of guards) app.use(guard);
  app.get('/', createResource());
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const names = Object.keys(demand) as ClientName[];
  const runs = names.map(async (name) => [name, await runClient(url, name)] as const);
  const tallies = new Map(await Promise.all(runs));
  server.close();
  server.closeAllConnections();
  return tallies;
}

/** Sends requests at a fixed rate, whatever the responses are: no client backs off by itself. */
async function runClient(url: string, name: ClientName): Promise<Tally> {
  const tally: Tally = { sent: 0, served: 0, exhausted: 0, throttled: 0 };
  const ask = async () => {
    const response = await fetch(url, { headers: { 'x-tenant': name } });
    await response.arrayBuffer();
    if (response.status === 200) tally.served += 1;
    else if (response.status === 503) tally.exhausted += 1;
    else tally.throttled += 1;
  };
  const asked: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let elapsedMs = 0; elapsedMs < SECONDS * 1000; elapsedMs = performance.now() - startedAt) {
    while (asked.length < (elapsedMs / 1000) * demand[name]) asked.push(ask());
    await sleep(TICK_MS * (0.5 + Math.random())); // not in step with the others
  }
  await Promise.all(asked);
  return { ...tally, sent: asked.length };
}

await using tracker = createFairTracker({ policy: 'linear' });
const guard = fairExpress(tracker, { keyGenerator: (request) => request.get('x-tenant') });

process.stdout.write(
  `two runs of ${SECONDS} s, capacity for ${CAPACITY_PER_SECOND} requests per second\n`,
);
const runs = { without: await measure([]), 'with fair': await measure([guard]) };
for (const [title, tallies] of Object.entries(runs)) {
  process.stdout.write(`\n${title.padEnd(9)}   sent  served  503  429\n`);
  for (const [name, { sent, served, exhausted, throttled }] of tallies) {
    const cells = [name.padEnd(9), String(sent).padStart(5), String(served).padStart(6)];
    cells.push(String(exhausted).padStart(3), String(throttled).padStart(3));
    process.stdout.write(`${cells.join('  ')}\n`);
  }
}
