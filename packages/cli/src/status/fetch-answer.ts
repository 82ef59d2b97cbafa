// One GET of a page of the server, as JSON. Node's own client and not `fetch`, because only it takes an
// authority and a client certificate.
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { SynclineError } from '@syncline/kernel';
import { errorFromProblem } from '@syncline/protocol';
import { cliLimits } from '../limits.js';
import type { StatusTarget } from './status-target.js';
import { unreachableError } from './unreachable-error.js';

/** Whatever listens there may answer: only what `isExpected` knows is handed out. */
export async function fetchAnswer<T>(
  target: StatusTarget,
  path: string,
  isExpected: (body: unknown) => body is T,
): Promise<T> {
  const { status, text } = await get(target, path);
  const body = parseJson(text);
  if (status === 401) throw unauthenticated(target);
  if (status === 200 && isExpected(body)) return body;
  if (status !== 200 && isProblem(body)) throw errorFromProblem(status, body);
  throw new SynclineError(
    'unavailable',
    `${target.shownUrl} answered, but not as a Syncline server does. Check --url.`,
  );
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function get(target: StatusTarget, path: string): Promise<Answer> {
  const { url, token, ca, cert, key } = target;
  const options = {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
    signal: AbortSignal.timeout(cliLimits.requestTimeoutMs.value),
    agent: false, // nothing stays open behind the answer
  };
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const fail = (cause: Error) => reject(unreachableError(target, cause));
    request(new URL(path, url), options, (response) => {
      readAll(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), fail);
    })
      .on('error', fail)
      .end();
  });
}

async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > cliLimits.answerBytesMax.value) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isProblem(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;
}

function unauthenticated({ shownUrl, token }: StatusTarget): SynclineError {
  const what = token === undefined ? 'wants a token' : 'does not accept this token';
  return new SynclineError(
    'unauthenticated',
    `${shownUrl} ${what}. Set SYNCLINE_TOKEN_FILE to the file that the server's auth.token_file names.`,
  );
}
