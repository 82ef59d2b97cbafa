// Converts failures to problem documents, without internal details.
import { type LogFields, type Logger, SynclineError } from '@syncline/kernel';
import { type HttpProblem, PROBLEM_MEDIA_TYPE, problemOf } from '@syncline/protocol';
import type { FastifyReply } from 'fastify';
import { reportBug } from '../handler-bug.js';
import { bodyErrorText } from './json-body.js';

/** `status` overrides that of the error code. */
export function problemWith(error: SynclineError, status?: number): HttpProblem {
  const problem = problemOf(error);
  return status === undefined ? problem : { ...problem, status };
}

/** Converts what a handler, or fastify itself, has thrown. */
export function problemFrom(thrown: unknown, logger: Logger, where: LogFields): HttpProblem {
  if (thrown instanceof SynclineError) return problemOf(thrown);
  const status = clientErrorStatus(thrown);
  if (status === undefined) return problemWith(reportBug(logger, thrown, where), 500);
  const message =
    bodyErrorText(thrown) ?? (thrown instanceof Error ? thrown.message : String(thrown));
  const error =
    status === 413
      ? new SynclineError('limit-exceeded', message, { details: { limit: 'httpBodyBytesMax' } })
      : new SynclineError('invalid-argument', message);
  return problemWith(error, status);
}

export function sendProblem(reply: FastifyReply, problem: HttpProblem): FastifyReply {
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer realm="syncline"');
  if (problem.retryable) reply.header('retry-after', '1');
  return reply.code(problem.status).type(PROBLEM_MEDIA_TYPE).send(JSON.stringify(problem));
}

/** fastify sets a 4xx status on errors that the client caused, such as a malformed body or a wrong media type. */
function clientErrorStatus(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('statusCode' in thrown)) return undefined;
  const status = thrown.statusCode;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}
