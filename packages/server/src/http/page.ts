// The plain page at /: where everything is. No script, nothing from elsewhere, and what comes from
// slices is escaped. It needs no token, so it says nothing about this server.
import { createHash } from 'node:crypto';
import type { TextReply } from './route-table.js';

const STYLE = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem; }
code { font-family: ui-monospace, monospace; }
dt { margin-top: 1rem; }
dd { margin: 0; opacity: 0.75; }
`;

/** The hash lets in this style and no other. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export interface PageLink {
  readonly path: string;
  readonly text: string;
}

export function renderPage(links: readonly PageLink[]): TextReply {
  const items = links.map(
    ({ path, text }) =>
      `<dt><a href="${escapeHtml(path)}"><code>${escapeHtml(path)}</code></a></dt>\n<dd>${escapeHtml(text)}</dd>`,
  );
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Syncline</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Syncline</h1>
<dl>
${items.join('\n')}
</dl>
</body>
</html>
`;
  return {
    kind: 'text',
    contentType: 'text/html; charset=utf-8',
    body,
    contentSecurityPolicy: CONTENT_SECURITY_POLICY,
  };
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
