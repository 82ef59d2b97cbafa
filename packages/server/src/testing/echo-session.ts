// A RESP-like toy protocol: each chunk comes back as it is. `QUIT` ends, `WAIT` waits for the test,
// `BUG` throws.
import { BoundedQueue } from '@syncline/kernel';
import type { RespSession } from '../resp/resp-session.js';

export function createEchoSession(wait: () => Promise<void>): RespSession {
  const output = new BoundedQueue<Uint8Array>({ itemsMax: 1_000 });
  let busy: Promise<void> | undefined;
  let isClosing = false;
  return {
    output,
    push(chunk) {
      const text = Buffer.from(chunk).toString('latin1').trim();
      if (text === 'BUG') throw new TypeError('secret insides');
      output.offer(chunk);
      if (text === 'QUIT') output.close();
      if (text !== 'WAIT') return undefined;
      busy = wait().then(() => {
        busy = undefined;
        output.offer(Buffer.from('waited\r\n'));
        if (isClosing) output.close();
      });
      return busy;
    },
    close() {
      isClosing = true;
      if (busy === undefined) output.close();
    },
  };
}
