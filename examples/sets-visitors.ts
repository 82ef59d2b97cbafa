// Two web servers count their visitors together. Each is a separate process and adds to the same sets of one Syncline
// server, with ioredis, a plain Redis client. A visitor of both counts once; nothing is lost when the Syncline server
// is restarted.
//
//   npm run example -- sets-visitors
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { startSyncline } from './server/start-syncline.js';

const REQUESTS = 5_000;
const VISITORS = 3_000;

/** One web server: many requests, each from one of a few thousand visitors. */
async function serveVisitors(port: number): Promise<void> {
  const redis = new Redis(port);
  const ownVisitors = new Set<number>();
  const answers: Promise<number>[] = [];
  for (let request = 0; request < REQUESTS; request += 1) {
    const visitor = Math.floor(Math.random() ** 2 * VISITORS); // some come often
    ownVisitors.add(visitor);
    answers.push(redis.sadd('visitors:monday', `visitor-${visitor}`));
  }
  await Promise.all(answers); // each is on disk now, or at least with the operating system
  await redis.sadd(`visitors:${process.pid}`, ...[...ownVisitors].map((id) => `visitor-${id}`));
  process.stdout.write(`  web server ${process.pid}: ${ownVisitors.size} different visitors\n`);
  redis.disconnect();
}

async function countTogether(dataDir: string): Promise<void> {
  const { server, portOf } = await startSyncline({ data_dir: dataDir });
  const port = portOf('resp');
  process.stdout.write(`two web servers, ${REQUESTS} requests each:\n`);
  const workers = [1, 2].map(() => fork(fileURLToPath(import.meta.url), [String(port)]));
  await Promise.all(workers.map((worker) => once(worker, 'exit')));
  const redis = new Redis(port);
  const [first = '', second = ''] = workers.map(({ pid }) => `visitors:${pid}`);
  process.stdout.write(`together: ${await redis.scard('visitors:monday')} different visitors\n`);
  process.stdout.write(`at both:  ${await redis.sintercard(2, first, second)}\n`);
  redis.disconnect();
  await server.stop();
}

async function countAgain(dataDir: string): Promise<void> {
  const { server, portOf } = await startSyncline({ data_dir: dataDir });
  const port = portOf('resp');
  const redis = new Redis(port);
  process.stdout.write(`after a restart: ${await redis.scard('visitors:monday')}\n`);
  redis.disconnect();
  await server.stop();
}

const [, , port] = process.argv;
if (port !== undefined) {
  await serveVisitors(Number(port));
} else {
  const dataDir = await mkdtemp(join(tmpdir(), 'syncline-visitors-'));
  await countTogether(dataDir);
  await countAgain(dataDir);
  await rm(dataDir, { recursive: true });
}
