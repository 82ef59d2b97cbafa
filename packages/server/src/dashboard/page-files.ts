// The page built by packages/dashboard, read into memory at startup and served at / and at the URL of every view.
//
// The files need no token: they contain no data, and the page prompts for the token itself. The content security
// policy allows the page to load its own files and to connect to its own server, and nothing else.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { SynclineError } from '@syncline/kernel';
import type { HttpRequest } from '../http/http-route.js';
import type { FileReply, ServerRoute } from '../http/route-table.js';

/** All serve the same page; the browser decides what to show. */
const VIEW_PATHS = [
  '/',
  '/fair',
  '/jobs',
  '/jobs/:job',
  '/sets',
  '/sets/:set',
  '/streams',
] as const;

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const NOT_BUILT = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Syncline</title>
<h1>Syncline</h1>
<p>The dashboard has not been built. Run <code>npm run build</code> and restart the server.</p>
<p>Its data is available through the HTTP API: see <a href="/api/openapi.json">/api/openapi.json</a>.</p>
`;

export function pageRoutes(): readonly ServerRoute[] {
  const { html, assets } = readFiles();
  const page: FileReply = {
    kind: 'file',
    contentType: 'text/html; charset=utf-8',
    ...compressed(Buffer.from(html)),
    headers: { 'content-security-policy': CONTENT_SECURITY_POLICY },
  };
  return [
    ...VIEW_PATHS.map(
      (path): ServerRoute => ({ method: 'GET', path, access: 'open', handle: () => page }),
    ),
    {
      method: 'GET',
      path: '/assets/:file',
      access: 'open',
      handle: ({ params }: HttpRequest) => {
        const found = assets.get(params['file'] ?? '');
        if (found !== undefined) return found;
        const message = 'no such file. The server was probably updated; reload the page.';
        throw new SynclineError('not-found', message);
      },
    },
  ];
}

function readFiles(): { readonly html: string; readonly assets: ReadonlyMap<string, FileReply> } {
  const index = findIndex();
  if (index === undefined) return { html: NOT_BUILT, assets: new Map() };
  const directory = join(dirname(index), 'assets');
  const assets = new Map<string, FileReply>();
  for (const name of readdirSync(directory)) {
    const contentType = CONTENT_TYPES[/[^.]*$/.exec(name)?.[0] ?? ''];
    if (contentType === undefined) continue;
    assets.set(name, {
      kind: 'file',
      contentType,
      ...compressed(readFileSync(join(directory, name))),
      // The name contains a hash of the content.
      headers: { 'cache-control': 'public, max-age=31536000, immutable' },
    });
  }
  return { html: readFileSync(index, 'utf8'), assets };
}

function findIndex(): string | undefined {
  try {
    const path = createRequire(import.meta.url).resolve('@syncline/dashboard');
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined; // not installed, or not built
  }
}

function compressed(body: Buffer): Pick<FileReply, 'body' | 'gzip'> {
  return { body, gzip: gzipSync(body, { level: 9 }) };
}
