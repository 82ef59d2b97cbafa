// All routes of the HTTP listener: the server's own, and those of the slices below /api.
//
// fastify matches requests to them. The list is also used for what fastify does not provide: the methods of a
// path, and suggestions for a misspelled one.
import { nearestName } from '@syncline/kernel';
import type { HttpReply, HttpRequest, HttpRoute, RouteDoc } from './http-route.js';
import type { RouteAccess } from './request-guard.js';

export interface ServerRoute {
  readonly method: HttpRoute['method'];
  /** The whole pattern: `/api/jobs/:job`. */
  readonly path: string;
  readonly access: RouteAccess;
  handle(request: HttpRequest): Promise<ServerReply> | ServerReply;
  readonly doc?: RouteDoc;
}

/** The server's own routes can also reply with text and files. */
export type ServerReply = HttpReply | TextReply | FileReply;

export interface TextReply {
  readonly kind: 'text';
  readonly contentType: string;
  readonly body: string;
}

export interface FileReply {
  readonly kind: 'file';
  readonly contentType: string;
  readonly body: Buffer;
  /** The same, compressed. */
  readonly gzip: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

export function sliceRoutes(slice: string, routes: readonly HttpRoute[]): readonly ServerRoute[] {
  return routes.map((route) => ({
    method: route.method,
    path: `/api/${slice}${route.path}`,
    access: 'slice',
    handle: (request) => route.handle(request),
    ...(route.doc === undefined ? {} : { doc: route.doc }),
  }));
}

/** The methods that a path supports; none if the path does not exist. */
export function methodsOf(path: string, routes: readonly ServerRoute[]): readonly string[] {
  const methods = routes.filter((route) => matches(route.path, path)).map((route) => route.method);
  const withHead = methods.includes('GET') ? ['HEAD', ...methods] : methods;
  return [...new Set(withHead)].sort();
}

/** The most similar path if there is one, otherwise all paths without parameters. */
export function suggestPaths(path: string, routes: readonly ServerRoute[]): readonly string[] {
  const plain = routes
    .filter((route) => route.method === 'GET' && !route.path.includes(':'))
    .map((route) => route.path);
  const nearest = nearestName(path.slice(0, 200), plain);
  return nearest === undefined ? plain : [nearest];
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return (
    wanted.length === given.length &&
    wanted.every((part, index) =>
      part.startsWith(':') ? given[index] !== '' : part === given[index],
    )
  );
}
