import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { tryPort } from './try-port.js';

test('a port in use is refused as listening on it would be, and a free one stays free', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const address = { host: '127.0.0.1', port };
  await expect(tryPort(address)).rejects.toMatchObject({
    details: { reason: 'address-in-use' },
    message: expect.stringContaining(`127.0.0.1:${port} (the port is in use)`),
  });
  server.close();
  await once(server, 'close');
  await tryPort(address);
  await tryPort(address);
});
