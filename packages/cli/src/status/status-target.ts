// The server to connect to, and how to authenticate. The command line reads the same settings as a server on the
// same machine, so address, token and certificates come from them unless a flag overrides them.
import { checkTokenIsSafe, SynclineError } from '@syncline/kernel';
import { describeOrigin, type LoadedConfig, loadConfig } from '@syncline/server/config';
import type { Command } from 'commander';
import { ownUrl } from '../own-url.js';
import { readClientTls } from './client-tls.js';

export interface StatusTargetOptions {
  readonly url?: string;
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly config?: string;
}

/** For every command that connects to a server. */
export function addTargetOptions(command: Command): Command {
  return command
    .option('--url <url>', 'Server URL (or SYNCLINE_URL; http://127.0.0.1:7400)')
    .option('--ca-file <file>', 'PEM file with the CA that signed the server certificate')
    .option('--cert-file <file>', 'PEM file with the certificate of this client')
    .option('--key-file <file>', 'PEM file with the key of that certificate')
    .option('--config <file>', "The server's TOML file: provides address, token and certificates");
}

/** Where the URL comes from. */
export type UrlSource = '--url' | 'SYNCLINE_URL' | 'configuration';

export interface StatusTarget {
  readonly url: URL;
  /** As typed, for messages. */
  readonly shownUrl: string;
  readonly urlSource: UrlSource;
  readonly token: string | undefined;
  /** The variable or the file that holds the token, for messages. */
  readonly tokenSource: string | undefined;
  /** PEM texts. */
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  /** The certificate of the server on this machine, according to its settings. */
  readonly serverCert: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function statusTarget(options: StatusTargetOptions, environment: Environment): StatusTarget {
  const file = options.config;
  const loaded = loadConfig({ environment, ...(file === undefined ? {} : { file }) });
  const { config } = loaded;
  const { SYNCLINE_URL: variable = '' } = environment;
  const urlSource = urlSourceOf(options, variable);
  const shownUrl = options.url ?? (variable === '' ? ownUrl(config) : variable);
  const { tls, token } = config.credentials;
  const url = parseUrl(shownUrl, urlSource);
  if (token !== undefined)
    checkTokenIsSafe(url, urlSource === 'configuration' ? '--url' : urlSource);
  const { caFile: ca, certFile: cert, keyFile: key } = options;
  const given = readClientTls({ ca, cert, key });
  const own = given.cert === undefined ? tls : given;
  return {
    url,
    shownUrl,
    urlSource,
    token: token?.reveal(),
    tokenSource: token && tokenSourceOf(loaded, environment),
    ca: given.ca ?? tls?.ca,
    cert: own?.cert,
    key: own?.key,
    serverCert: tls?.cert,
  };
}

function urlSourceOf({ url }: StatusTargetOptions, variable: string): UrlSource {
  if (url !== undefined) return '--url';
  return variable === '' ? 'configuration' : 'SYNCLINE_URL';
}

/** `SYNCLINE_TOKEN`, or `./token (from syncline.toml)`. */
function tokenSourceOf({ list }: LoadedConfig, environment: Environment): string {
  const { SYNCLINE_TOKEN: variable = '' } = environment;
  const file = list.find(({ entry }) => entry.key === 'auth.token_file');
  if (variable !== '' || file === undefined) return 'SYNCLINE_TOKEN';
  return `${String(file.value)} (from ${describeOrigin(file.origin)})`;
}

function parseUrl(text: string, source: UrlSource): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url !== undefined && isHttp && url.href === `${url.origin}/`) return url;
  throw new SynclineError(
    'invalid-argument',
    `${source} is ${JSON.stringify(text)}; expected a URL like http://127.0.0.1:7400, without a path.`,
  );
}
