// The rest of a body whose request has been answered: it is discarded, but must be received before the next
// request on the connection.
//
// Node reads it to its end, and it may be endless. Closing immediately would often lose the answer, because the
// client is still sending. So it may be as long as any body, and then the connection is cut.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { serverLimits } from '../limits.js';

export function boundUnreadBody(
  request: IncomingMessage,
  response: ServerResponse,
  onTooLarge: () => void,
): void {
  // Before Node's own listener, which leaves a body alone that has a reader.
  response.prependOnceListener('finish', () => {
    if (request.complete) return;
    let bytes = 0;
    request.on('data', (chunk: Uint8Array) => {
      bytes += chunk.byteLength;
      if (bytes <= serverLimits.httpBodyBytesMax.value || request.socket.destroyed) return;
      request.socket.destroy();
      onTooLarge();
    });
  });
}
