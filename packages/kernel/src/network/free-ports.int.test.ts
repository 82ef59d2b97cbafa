import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { findFreePorts } from './free-ports.js';

it('finds distinct ports that can be listened on, below those that the system chooses', async () => {
  const ports = await findFreePorts(10);
  expect(new Set(ports).size).toBe(10);
  for (const port of ports) {
    expect(port).toBeLessThan(32_768);
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
  }
});
