// One question to the server and its answer, as JSON.
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
  /** Default `answerBytesMax`. */
  readonly bytesMax?: number;
}

/** Whatever listens there may answer: only what `isExpected` knows is handed out. */
export async function fetchAnswer<T>(
  target: StatusTarget,
  path: string,
  isExpected: (body: unknown) => body is T,
  { method = 'GET', bytesMax = cliLimits.answerBytesMax.value }: AnswerOptions = {},
): Promise<T> {
  const signal = AbortSignal.timeout(cliLimits.requestTimeoutMs.value);
  const response = await sendRequest(target, { method, path, signal });
  const text = await readAnswer(response, bytesMax).catch((cause: Error) => {
    throw unreachableError(target, cause, method === 'GET' ? 'not-applied' : 'unknown');
  });
  const body = parseJson(text);
  const { statusCode = 0 } = response;
  if (statusCode === 200 && isExpected(body)) return body;
  throw refusalOf(target, statusCode, body);
}
