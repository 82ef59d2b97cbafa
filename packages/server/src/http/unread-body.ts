// What is left of a body when its request has been answered: nobody reads it, but it has to pass before
// the next request on the connection can be seen.
//
// Node reads it to its end, and it may have none. Cutting at once would often lose the answer, as the
// client still sends. So it may go on as far as any body may, and then the connection is cut.
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
