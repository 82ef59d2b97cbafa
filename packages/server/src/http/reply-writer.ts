// Writes the reply of a route to the client.
import { type Clock, type Logger, SynclineError, unreachable } from '@syncline/kernel';
import type { FastifyReply } from 'fastify';
import { EitherAbort } from '../either-abort.js';
import { reportBug } from '../handler-bug.js';
import type { ServerSentEvent } from './http-route.js';
import type { FileReply, ServerReply } from './route-table.js';
import { sendEvents } from './server-sent-events.js';

export interface ReplyWriterDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly draining: AbortSignal;
}

export async function writeReply(
  deps: ReplyWriterDeps,
  reply: FastifyReply,
  { content, signal }: { readonly content: ServerReply; readonly signal: AbortSignal },
): Promise<void> {
  switch (content.kind) {
    case 'json':
      reply.code(content.status ?? 200).type('application/json; charset=utf-8');
      reply.send(JSON.stringify(content.body));
      return;
    case 'text':
      reply.type(content.contentType).send(content.body);
      return;
    case 'file':
      writeFile(reply, content);
      return;
    case 'empty':
      reply.code(204).send();
      return;
    case 'events':
      await writeEvents(deps, reply, { events: content.events, signal });
      return;
    default:
      unreachable(content);
  }
}

function writeFile(reply: FastifyReply, { contentType, body, gzip, headers }: FileReply): void {
  const takesGzip = /\bgzip\b/.test(String(reply.request.headers['accept-encoding'] ?? ''));
  reply.headers({ ...headers, vary: 'accept-encoding' }).type(contentType);
  if (takesGzip) reply.header('content-encoding', 'gzip');
  reply.send(takesGzip ? gzip : body);
}

/** The response has started, so a failure of the source can only be logged. The client reconnects. */
async function writeEvents(
  deps: ReplyWriterDeps,
  reply: FastifyReply,
  stream: { readonly events: AsyncIterable<ServerSentEvent>; readonly signal: AbortSignal },
): Promise<void> {
  reply.header('content-type', 'text/event-stream; charset=utf-8');
  reply.header('x-accel-buffering', 'no'); // otherwise proxies buffer streams
  if (reply.request.method === 'HEAD') return void reply.send('');
  reply.hijack();
  const response = reply.raw;
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) response.setHeader(name, value);
  }
  response.flushHeaders();
  const over = new EitherAbort(stream.signal, deps.draining);
  try {
    await sendEvents({ clock: deps.clock, response }, stream.events, over);
  } catch (thrown) {
    const where = { route: reply.request.routeOptions.url };
    if (thrown instanceof SynclineError) {
      deps.logger.warn('event stream failed', { ...where, code: thrown.code });
    } else {
      reportBug(deps.logger, thrown, where);
    }
  } finally {
    over.release();
  }
}
