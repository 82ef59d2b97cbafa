// Finds ports for programs that must know their port before they listen on it: peers that name each other,
// and servers that are restarted at the same address.
//
// A port that the system chose is no use here. Once released, it can go to the next socket that asks for any
// port, or to an outgoing connection. These ports lie below the ranges that systems choose from (Linux from
// 32768, macOS and Windows from 49152), so only a program that asks for the same number can take them.
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

const LOWEST = 12_000;
const HIGHEST = 32_767;
const PORTS_COUNT = HIGHEST - LOWEST + 1;
/** Between the first ports of two processes that started one after the other. */
const PROCESS_STEP = 509;

/** Each process counts up from a place of its own, so that two that look at the same time find different ports. */
let next = (process.pid * PROCESS_STEP) % PORTS_COUNT;

/** Ports on which nothing listens on loopback now. A port is returned again only after all others have been. */
export async function findFreePorts(count: number): Promise<readonly number[]> {
  const held: Server[] = [];
  try {
    const ports: number[] = [];
    for (let tried = 0; ports.length < count; tried += 1) {
      if (tried === PORTS_COUNT)
        throw new Error(
          `found ${ports.length} of ${count} free ports from ${LOWEST} to ${HIGHEST}`,
        );
      const port = LOWEST + next;
      next = (next + 1) % PORTS_COUNT;
      const server = createServer();
      if (!(await listens(server, port))) continue;
      held.push(server);
      ports.push(port);
    }
    return ports;
  } finally {
    await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

async function listens(server: Server, port: number): Promise<boolean> {
  try {
    await once(server.listen({ host: '127.0.0.1', port }), 'listening');
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' || code === 'EACCES') return false;
    throw error;
  }
}
