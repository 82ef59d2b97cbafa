// Answers malformed requests: bytes that are not HTTP, and headers that are too large or too slow. There is no
// response object yet, so the answer is written to the socket, which is then closed.
import type { Socket } from 'node:net';
import { SynclineError } from '@syncline/kernel';
import { PROBLEM_MEDIA_TYPE } from '@syncline/protocol';
import type { serverLimits } from '../limits.js';
import type { OwnHttpStatus } from './http-statuses.js';
import { problemWith } from './problem-reply.js';

export interface ClientError {
  readonly status: OwnHttpStatus | 400;
  readonly error: SynclineError;
  readonly limit?: keyof typeof serverLimits;
}

/** Undefined if the client has disconnected. */
export function clientErrorOf(systemCode: string): ClientError | undefined {
  if (systemCode === 'ECONNRESET' || systemCode === 'EPIPE') return undefined;
  if (systemCode === 'HPE_HEADER_OVERFLOW') {
    return tooMuch('httpHeaderBytesMax', 431, 'request line and headers are too large');
  }
  if (systemCode === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return tooMuch('httpRequestTimeoutMs', 408, 'the request did not arrive in time');
  }
  return { status: 400, error: new SynclineError('invalid-argument', 'not a valid HTTP request') };
}

function tooMuch(
  limit: keyof typeof serverLimits,
  status: OwnHttpStatus,
  message: string,
): ClientError {
  return {
    status,
    limit,
    error: new SynclineError('limit-exceeded', message, { details: { limit } }),
  };
}

export function answerClientError(socket: Socket, failure: ClientError): void {
  const body = JSON.stringify(problemWith(failure.error, failure.status));
  const head = [
    `HTTP/1.1 ${failure.status} ${failure.error.code}`,
    `content-type: ${PROBLEM_MEDIA_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'x-content-type-options: nosniff',
    'cache-control: no-store',
    'connection: close',
  ];
  if (socket.writable) socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroySoon();
}
