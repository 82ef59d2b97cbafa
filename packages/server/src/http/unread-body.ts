// Limits how much of a request body is read after the request was answered. The remaining body is discarded, but
// must be received before the next request on the connection.
//
// Node reads it to the end, however long it is. Closing the connection immediately would often lose the response,
// because the client is still sending. So the usual body limit applies, and then the connection is closed.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { serverLimits } from '../limits.js';

export function boundUnreadBody(
  request: IncomingMessage,
  response: ServerResponse,
  onTooLarge: () => void,
): void {
  // Must run before Node's own listener, which does not discard a body that has a reader.
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
