// Checks whether a server could listen on an address, before starting anything that would have to be
// undone.
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Address } from './network.js';
import { listenError } from './network-error.js';

/** Rejects as listening there would. Another process can still take the port afterwards. */
export async function tryPort(address: Address): Promise<void> {
  const server = createServer((socket) => socket.destroy());
  try {
    await once(server.listen({ host: address.host, port: address.port }), 'listening');
  } catch (thrown) {
    throw listenError(address, thrown as Error);
  }
  await new Promise((resolve) => server.close(resolve));
}
