// Where to ask, and how to be let in. A server and the command line beside it read the same settings,
// so the address, the token and the certificates follow from them unless a flag says otherwise.
import { SynclineError } from '@syncline/kernel';
import { loadConfig, readInputFile, type ServerConfig } from '@syncline/server';

export interface StatusTargetOptions {
  readonly url?: string;
  readonly caFile?: string;
  readonly config?: string;
}

export interface StatusTarget {
  readonly url: URL;
  /** As typed, for messages. */
  readonly shownUrl: string;
  readonly token: string | undefined;
  /** PEM texts. */
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function statusTarget(options: StatusTargetOptions, environment: Environment): StatusTarget {
  const file = options.config;
  const { config } = loadConfig({ environment, ...(file === undefined ? {} : { file }) });
  const { SYNCLINE_URL: variable = '' } = environment;
  const shownUrl = options.url ?? (variable === '' ? ownUrl(config) : variable);
  const { tls, token } = config.credentials;
  return {
    url: parseUrl(shownUrl, options.url === undefined ? 'SYNCLINE_URL' : '--url'),
    shownUrl,
    token: token?.reveal(),
    ca: options.caFile === undefined ? tls?.ca : readInputFile(options.caFile, '--ca-file').text,
    cert: tls?.cert,
    key: tls?.key,
  };
}

/** A server that listens on every address is asked on loopback. */
function ownUrl({ listenHost, http, credentials }: ServerConfig): string {
  const isEverywhere = listenHost === '0.0.0.0' || listenHost === '::';
  const host = isEverywhere ? '127.0.0.1' : listenHost;
  const shown = host.includes(':') ? `[${host}]` : host;
  return `${credentials.tls === undefined ? 'http' : 'https'}://${shown}:${http.port}`;
}

function parseUrl(text: string, origin: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  throw new SynclineError(
    'invalid-argument',
    `${origin} is ${JSON.stringify(text)}; allowed is a URL like http://127.0.0.1:7400.`,
  );
}
