// How a slice handles HTTP requests: plain values in, plain values or events out.
//
// A slice sees neither fastify nor sockets. The server takes care of authentication, limits, error responses,
// backpressure and keep-alive comments.
import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';

export interface HttpRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below /api/<slice>, with `:name` for parameters: `/:job/events`. Empty for the slice itself. */
  readonly path: string;
  /** A SynclineError is sent as a problem document. */
  handle(request: HttpRequest): Promise<HttpReply> | HttpReply;
  /** For /api/openapi.json. */
  readonly doc?: RouteDoc;
}

export interface HttpRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON; undefined without a body. */
  readonly body: unknown;
  /** Fires when the client disconnects, and when the response is complete. */
  readonly signal: AbortSignal;
}

export type HttpReply =
  /** `status` is 200 by default. */
  | { readonly kind: 'json'; readonly body: unknown; readonly status?: number }
  | { readonly kind: 'empty' }
  /** Server-sent events, pulled as fast as the client reads. The stream ends when the server starts to stop. */
  | { readonly kind: 'events'; readonly events: AsyncIterable<ServerSentEvent> };

export type ServerSentEvent = {
  readonly event: string;
  /** The Last-Event-ID that the client sends when it reconnects. */
  readonly id?: string;
} & (
  | { /** Sent as JSON. */ readonly data: unknown }
  | {
      /** Already JSON, without line breaks: encoded once for many clients. */ readonly encoded: string;
    }
);

/** The description of a route. It uses zod schemas, so that tests can validate responses. */
export interface RouteDoc {
  readonly summary: string;
  readonly query?: Readonly<Record<string, z.ZodType>>;
  readonly body?: z.ZodType;
  /** The JSON of a successful response; undefined if there is no content, or if it is a stream of events. */
  readonly reply?: z.ZodType;
  /** For a route that responds with server-sent events: the `data` of each kind of event. */
  readonly events?: Readonly<Record<string, z.ZodType>>;
}
