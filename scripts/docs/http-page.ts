// docs/HTTP.md and docs/openapi.json: a node's own description of its HTTP API. A server in memory is started
// and queried, so the page cannot differ from what is served.
import { createSystemClock, createSystemRandom, silentLogger } from '@syncline/kernel';
import { createSlices, startServer } from '@syncline/server';
import { loadConfig } from '@syncline/server/config';
import { renderTable } from './markdown-table.js';

interface Operation {
  readonly summary: string;
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
}

export interface OpenApi {
  readonly info: { version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export async function fetchOpenApi(): Promise<OpenApi> {
  const ports = Object.fromEntries(['http', 'grpc', 'resp'].map((name) => [`${name}.port`, '0']));
  const flags = new Map(Object.entries({ memory: 'true', ...ports }));
  const { config } = loadConfig({ environment: {}, flags });
  const deps = { clock: createSystemClock(), random: createSystemRandom(), logger: silentLogger };
  const server = await startServer({ ...deps, onListening() {} }, config, createSlices());
  try {
    const { port } = server.listeners.find(({ listener }) => listener === 'http') ?? {};
    const reply = await fetch(`http://127.0.0.1:${port}/api/openapi.json`);
    const document = (await reply.json()) as OpenApi;
    document.info.version = '0'; // the version of a build is not a matter of the page
    return document;
  } finally {
    await server.stop();
  }
}

export function renderHttpPage({ paths }: OpenApi): string {
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { summary, parameters }]) => [
      `\`${method.toUpperCase()} ${path}\``,
      summary,
      parameters
        .filter((one) => one.in === 'query')
        .map(({ name }) => `\`${name}\``)
        .join(', '),
    ]),
  );
  return `# HTTP API

Every node serves this API on its HTTP port (7400). [openapi.json](openapi.json) is the full description, with the
fields of requests and responses; a node serves its own at \`GET /api/openapi.json\`. Errors are
\`application/problem+json\` with a \`code\` from [ERRORS.md](ERRORS.md). A server with a token expects
\`Authorization: Bearer <token>\`: see [security.md](security.md).

${renderTable(['request', 'what it does', 'query'], rows)}

Outside \`/api\`:

| request | what it does |
| --- | --- |
| \`GET /healthz\` | 503 with the reason if only a restart can help, otherwise 200 |
| \`GET /readyz\` | 200 if every check passes, otherwise 503; the body lists all checks, with reasons |
| \`GET /metrics\` | metrics in the Prometheus format ([METRICS.md](METRICS.md)) |
| \`GET /version\` | the versions of Syncline and Node |
| \`GET /\` | the [dashboard](dashboard.md) |
`;
}
