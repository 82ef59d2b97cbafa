// The server to connect to, and how to authenticate. The command line reads the same settings as a server on the
// same machine, so address, token and certificates come from them unless a flag overrides them.
import { checkTokenIsSafe, SynclineError } from '@syncline/kernel';
import { checkTlsMaterial } from '@syncline/kernel/node';
import { loadConfig, readInputFile } from '@syncline/server/config';
import { ownUrl } from '../own-url.js';

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
  const url = parseUrl(shownUrl, options.url === undefined ? 'SYNCLINE_URL' : '--url');
  if (token !== undefined) checkTokenIsSafe(url, '--url');
  return {
    url,
    shownUrl,
    token: token?.reveal(),
    ca: options.caFile === undefined ? tls?.ca : readAuthority(options.caFile),
    cert: tls?.cert,
    key: tls?.key,
  };
}

function readAuthority(file: string): string {
  const { text } = readInputFile(file, '--ca-file');
  try {
    checkTlsMaterial({ ca: text });
  } catch (thrown) {
    if (!(thrown instanceof SynclineError)) throw thrown;
    const message = `--ca-file: cannot use ${file}: ${thrown.message}.`;
    throw new SynclineError('invalid-argument', message, { cause: thrown });
  }
  return text;
}

function parseUrl(text: string, origin: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url !== undefined && isHttp && url.href === `${url.origin}/`) return url;
  throw new SynclineError(
    'invalid-argument',
    `${origin} is ${JSON.stringify(text)}; expected a URL like http://127.0.0.1:7400, without a path.`,
  );
}
