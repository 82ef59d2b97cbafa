// A toy protocol for RESP tests: each chunk is echoed. `QUIT` ends the session, `WAIT` waits for the test, `BUG` throws.
import { assert } from '@syncline/kernel';
import type { RespSession, RespSink } from '../resp/resp-session.js';

export function createEchoSession(wait: () => Promise<void>): RespSession {
  let out: RespSink | undefined;
  let busy: Promise<void> | undefined;
  let isClosing = false;
  return {
    writeTo(sink) {
      out = sink;
    },
    push(chunk) {
      assert(out !== undefined, 'a session has its sink before its first bytes');
      const sink = out;
      const text = Buffer.from(chunk).toString('latin1').trim();
      if (text === 'BUG') throw new TypeError('secret insides');
      sink.write(chunk);
      if (text === 'QUIT') sink.end();
      if (text !== 'WAIT') return undefined;
      busy = wait().then(() => {
        busy = undefined;
        sink.write(Buffer.from('waited\r\n'));
        if (isClosing) sink.end();
      });
      return busy;
    },
    close() {
      isClosing = true;
      if (busy === undefined) out?.end();
    },
  };
}
