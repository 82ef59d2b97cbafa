// One request to the server and its response, as JSON.
import { cliLimits } from '../limits.js';
import {
  parseJson,
  readAnswer,
  refusalOf,
  type ServerRequest,
  sendRequest,
} from './server-request.js';
import type { StatusTarget } from './status-target.js';
import { unreachableError } from './unreachable-error.js';

export interface AnswerOptions {
  /** Default `GET`. */
  readonly method?: ServerRequest['method'];
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Default `answerBytesMax`. */
  readonly bytesMax?: number;
}

/** Anything may be listening there, so only responses that `isExpected` accepts are returned. */
export async function fetchAnswer<T>(
  target: StatusTarget,
  path: string,
  isExpected: (body: unknown) => body is T,
  { method = 'GET', body: sent, bytesMax = cliLimits.answerBytesMax.value }: AnswerOptions = {},
): Promise<T> {
  const signal = AbortSignal.timeout(cliLimits.requestTimeoutMs.value);
  const response = await sendRequest(target, { method, path, body: sent, signal });
  const text = await readAnswer(response, bytesMax).catch((cause: Error) => {
    throw unreachableError(target, cause, method === 'GET' ? 'not-applied' : 'unknown');
  });
  const body = parseJson(text);
  const { statusCode = 0 } = response;
  if (statusCode === 200 && isExpected(body)) return body;
  throw refusalOf(target, statusCode, body);
}
