import { expect, test } from 'vitest';
import { ListenerPart } from './listener-part.js';

test('a listener is closed again if announcing it fails', async () => {
  let isOpen = false;
  const part = new ListenerPart(
    {
      async open() {
        isOpen = true;
        return {
          address: { listener: 'http', host: '127.0.0.1', port: 1 },
          drain: async () => undefined,
          async close() {
            isOpen = false;
          },
        };
      },
      opened() {
        throw new Error('nobody listens to us');
      },
    },
    'http',
  );
  await expect(part.start()).rejects.toThrow('nobody listens');
  expect(isOpen).toBe(false);
});
