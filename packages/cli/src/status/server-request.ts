// Sends one request to a server. It uses Node's HTTP client, because `fetch` supports neither a custom CA nor client
// certificates.
import { X509Certificate } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { checkServerIdentity, type PeerCertificate, rootCertificates } from 'node:tls';
import { SynclineError } from '@syncline/kernel';
import { errorFromProblem } from '@syncline/protocol';
import type { StatusTarget } from './status-target.js';
import { otherServerAdvice, unreachableError } from './unreachable-error.js';

export interface ServerRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal: AbortSignal;
}

/** Resolves when the response headers have arrived. A change that was sent but not answered may have been applied. */
export function sendRequest(target: StatusTarget, asked: ServerRequest): Promise<IncomingMessage> {
  const { url, token, ca, cert, key, serverCert } = target;
  const { method, path, body, signal } = asked;
  const options = {
    method,
    headers: {
      ...asked.headers,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...trustOf(ca, serverCert),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
    signal,
    agent: false, // close the connection after the response
  };
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    // Not as part of the URL, which would resolve a tag named ".." as a parent directory.
    const request = send(url, { ...options, path }, resolve);
    request.on('error', (cause) => {
      const mayBeApplied = method !== 'GET' && request.writableFinished;
      reject(unreachableError(target, cause, mayBeApplied ? 'unknown' : 'not-applied'));
    });
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/**
 * The settings of a server name its certificate, but often not the private CA that signed it. So that `--config` is
 * enough, exactly this certificate is trusted as well, whatever the host name.
 */
function trustOf(ca: string | undefined, own: string | undefined) {
  if (ca !== undefined) return { ca };
  if (own === undefined) return {};
  const { raw } = new X509Certificate(own);
  return {
    ca: [...rootCertificates, own],
    allowPartialTrustChain: true,
    checkServerIdentity: (host: string, peer: PeerCertificate) =>
      raw.equals(peer.raw) ? undefined : checkServerIdentity(host, peer),
  };
}

/** Reads the body. One above the limit cannot come from a Syncline server. */
export async function readAnswer(response: IncomingMessage, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Error('the response is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The error for an unexpected response, which may come from something other than a Syncline server. */
export function refusalOf(target: StatusTarget, status: number, body: unknown): SynclineError {
  if (status === 401) return unauthenticated(target);
  if (status !== 200 && isProblem(body)) return errorFromProblem(status, body);
  return new SynclineError(
    'unavailable',
    `${target.shownUrl} responded, but does not look like a Syncline server. ${otherServerAdvice(target)}`,
  );
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isProblem(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;
}

function unauthenticated({ shownUrl, tokenSource }: StatusTarget): SynclineError {
  const text =
    tokenSource === undefined
      ? "requires a token. Set SYNCLINE_TOKEN_FILE to the server's token file (auth.token_file)."
      : `does not accept the token from ${tokenSource}. Use the one in the server's token file (auth.token_file).`;
  return new SynclineError('unauthenticated', `${shownUrl} ${text}`);
}
