// A route's plain reply, written to the client.
import type { Clock } from '@syncline/kernel';
import { unreachable } from '@syncline/kernel';
import type { FastifyReply } from 'fastify';
import type { ServerReply } from './route-table.js';
import { sendEvents } from './server-sent-events.js';

export interface ReplyWriterDeps {
  readonly clock: Clock;
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
      if (content.contentSecurityPolicy !== undefined) {
        reply.header('content-security-policy', content.contentSecurityPolicy);
      }
      reply.type(content.contentType).send(content.body);
      return;
    case 'empty':
      reply.code(204).send();
      return;
    case 'events': {
      reply.header('content-type', 'text/event-stream; charset=utf-8');
      reply.header('x-accel-buffering', 'no'); // proxies hold streams back otherwise
      if (reply.request.method === 'HEAD') return void reply.send('');
      reply.hijack();
      const response = reply.raw;
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) response.setHeader(name, value);
      }
      response.flushHeaders();
      const over = AbortSignal.any([signal, deps.draining]);
      await sendEvents({ clock: deps.clock, response }, content.events, { signal: over });
      return;
    }
    default:
      unreachable(content);
  }
}
