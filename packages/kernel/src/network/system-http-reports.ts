// Sends reports to a Syncline server over HTTP, such as the progress of a pipeline.
//
// Nothing waits for a report, and one that fails is dropped, because the next one follows soon. Everything that can be
// checked is therefore checked when the sender is created, and by default the first failure is a Node.js process warning.
import { SynclineError } from '../error.js';
import { checkTokenIsSafe, tokenFlaw } from './bearer-token.js';
import { openSslReason, requestError } from './network-error.js';

const TIMEOUT_MS = 5_000;
const ANSWER_LENGTH_MAX = 500;

/** PEM texts. */
export interface ClientTls {
  /** The authority that signed the server's certificate. Default: those that Node trusts. */
  readonly ca?: string;
  /** For servers that demand a client certificate. */
  readonly cert?: string;
  readonly key?: string;
  /** The name in the server's certificate, where it is not the host of the address. */
  readonly serverName?: string;
}

export interface HttpReportOptions {
  /** The HTTP address of any node, for example `http://127.0.0.1:7400`. */
  readonly url: string;
  /** The server's bearer token, if it has one. Without TLS it is sent on loopback only. */
  readonly token?: string;
  /** A private CA or a client certificate, for `https://`. In Node only. Default: the CAs that Node trusts. */
  readonly tls?: ClientTls;
  /** Called when a report fails: the server is unreachable or rejects it. Default: a warning for the first failure. */
  readonly onError?: (error: Error) => void;
}

export interface HttpReports {
  /** Sends a report as JSON. Rejects only if `onError` throws. */
  put(path: string, report: unknown): Promise<void>;
  /** A request in flight is completed, but its failure is not reported. */
  close(): void;
}

/** `warning` begins the default warning, as in `@syncline/fair: cannot report callers`. Throws `invalid-argument`. */
export function createHttpReports(options: HttpReportOptions, warning: string): HttpReports {
  const { token, tls, onError = warnOnce(warning) } = options;
  const base = baseOf(options.url);
  if (token !== undefined) checkToken(token, base);
  const sender = tls === undefined ? sendByFetch : createTlsSender(tls, base);
  let isClosed = false;
  return {
    async put(path, report) {
      try {
        await send(new URL(path, base), { sender, token, report });
      } catch (thrown) {
        if (!isClosed) onError(SynclineError.from(thrown));
      }
    },
    close() {
      isClosed = true;
    },
  };
}

interface Sending {
  readonly sender: Sender;
  readonly token: string | undefined;
  readonly report: unknown;
}

async function send(target: URL, { sender, token, report }: Sending): Promise<void> {
  const request = {
    method: 'PUT',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(report),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  };
  const { status, text } = await sender(target, request).catch((thrown: unknown) => {
    throw requestError(target.origin, thrown);
  });
  if (status >= 200 && status < 300) return;
  const message = `${target.origin} responded to a report with HTTP ${status}: ${detailOf(text)}`;
  throw new SynclineError(status === 401 ? 'unauthenticated' : 'unavailable', message);
}

/** The message in an error of the server. A proxy may answer with anything. */
function detailOf(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { readonly detail?: unknown };
    if (typeof detail === 'string') return detail.slice(0, ANSWER_LENGTH_MAX);
  } catch {
    // not JSON
  }
  return text.slice(0, ANSWER_LENGTH_MAX);
}

/** Ends with a slash, so that paths are resolved below it. */
function baseOf(text: unknown): URL {
  const slashed = `${String(text)}${String(text).endsWith('/') ? '' : '/'}`;
  const url = URL.canParse(slashed) ? new URL(slashed) : undefined;
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url !== undefined && isHttp && url.username === '' && url.password === '') return url;
  const shown = JSON.stringify(text)?.replace(/\/\/.*@/, '//***@');
  const message = `url is ${shown}; expected an address such as http://127.0.0.1:7400`;
  throw new SynclineError('invalid-argument', message, { details: { field: 'url' } });
}

function checkToken(token: string, base: URL): void {
  const wanted = tokenFlaw(token);
  if (wanted !== undefined) {
    const message = `token is ***; expected ${wanted}`;
    throw new SynclineError('invalid-argument', message, { details: { field: 'token' } });
  }
  checkTokenIsSafe(base, 'url');
}

interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

type Sender = (
  target: URL,
  request: HttpRequest,
) => Promise<{ readonly status: number; readonly text: string }>;

const sendByFetch: Sender = async (target, request) => {
  const reply = await fetch(target, request);
  return { status: reply.status, text: await reply.text() };
};

/**
 * Does what `fetch` cannot: a private CA and a client certificate. Idle connections do not keep the process alive. There
 * is no import of Node's modules, because programs for browsers and workers contain this file, too.
 */
function createTlsSender(
  { ca, cert, key, serverName }: ClientTls,
  { protocol, origin }: URL,
): Sender {
  const { process } = globalThis;
  if (process?.getBuiltinModule === undefined)
    throw tlsRefusal('is set, but is only available in Node.js');
  if (protocol !== 'https:') throw tlsRefusal(`is set, but url is ${origin}; expected https://`);
  if ((cert === undefined) !== (key === undefined))
    throw tlsRefusal('needs a client certificate and its key together, or neither');
  if (ca !== undefined && !ca.includes('BEGIN CERTIFICATE'))
    throw tlsRefusal('has a ca without a "BEGIN CERTIFICATE" block; expected PEM text');
  const { Agent, request: open } = process.getBuiltinModule('node:https');
  const { createSecureContext } = process.getBuiltinModule('node:tls');
  let secureContext: ReturnType<typeof createSecureContext>;
  try {
    secureContext = createSecureContext({
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && key !== undefined && { cert, key }),
    });
  } catch (thrown) {
    throw tlsRefusal(`cannot be used (${openSslReason(thrown)}); expected PEM texts`, thrown);
  }
  const name = serverName === undefined ? {} : { servername: serverName };
  const agent = new Agent({ keepAlive: true, secureContext, ...name });
  return (target, { body, ...options }) =>
    new Promise((resolve, reject) => {
      const sent = open(target, { ...options, agent }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('error', reject);
        response.on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      sent.on('error', reject).end(body);
    });
}

function tlsRefusal(why: string, cause?: unknown): SynclineError {
  const options = { details: { field: 'tls' }, cause };
  return new SynclineError('invalid-argument', `tls ${why}`, options);
}

/** In a browser or worker nothing is printed: programs there must pass `onError`. */
function warnOnce(warning: string): (error: Error) => void {
  let hasWarned = false;
  return ({ message }) => {
    if (!hasWarned) globalThis.process?.emitWarning(`${warning}: ${message}`);
    hasWarned = true;
  };
}
