// What a slice provides to answer HTTP: plain values in, plain values or events out.
//
// A slice sees neither fastify nor sockets. Authentication, limits, error answers, backpressure and
// keep-alive comments are the server's.
import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';

export interface HttpRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below /api/<slice>, with `:name` for parameters: `/:job/events`. Empty for the slice itself. */
  readonly path: string;
  /** A SynclineError becomes a problem document by the error table. */
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
  /** Fires when the client is gone, and when the answer is complete. */
  readonly signal: AbortSignal;
}

export type HttpReply =
  /** `status` is 200 by default. */
  | { readonly kind: 'json'; readonly body: unknown; readonly status?: number }
  | { readonly kind: 'empty' }
  /** Server-sent events, pulled as fast as the client reads. Ends when a stop begins. */
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

/** The description of a route. Schemas are zod's, so that tests can check answers against them. */
export interface RouteDoc {
  readonly summary: string;
  readonly query?: Readonly<Record<string, z.ZodType>>;
  readonly body?: z.ZodType;
  /** The JSON of a successful answer; undefined: no content, or events. */
  readonly reply?: z.ZodType;
  /** Of a route that answers with server-sent events: their `data`, by `event`. */
  readonly events?: Readonly<Record<string, z.ZodType>>;
}
