// Sends reports to a Syncline server over HTTP, such as the progress of a pipeline.
//
// Nothing waits for a report, and one that fails is dropped, because the next one follows soon. Everything that can be
// checked is therefore checked when the sender is created, and by default the first failure is a Node.js process warning.
import { SynclineError } from '../error.js';
import { checkTokenIsSafe, tokenFlaw } from './bearer-token.js';
import { requestError } from './network-error.js';
import { type ClientTls, createHttpsSender, type HttpsSender } from './system-https.js';

const TIMEOUT_MS = 5_000;
const ANSWER_LENGTH_MAX = 500;

export interface HttpReportOptions {
  /** The HTTP address of any node, for example `http://127.0.0.1:7400`. */
  readonly url: string;
  /** The server's bearer token, if it has one. Beyond loopback it is sent over TLS only. */
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
  const sender = tls === undefined ? sendByFetch : createHttpsSender(checkTls(tls, base));
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
  readonly sender: HttpsSender;
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
  const message = `${target.origin} answered ${status} to a report: ${detailOf(text)}`;
  throw new SynclineError(status === 401 ? 'unauthenticated' : 'unavailable', message);
}

const sendByFetch: HttpsSender = async (target, request) => {
  const reply = await fetch(target, request);
  return { status: reply.status, text: await reply.text() };
};

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

function checkTls(tls: ClientTls, { protocol, origin }: URL): ClientTls {
  if (protocol === 'https:') return tls;
  const message = `tls is set, but url is ${origin}; expected an address with https://`;
  throw new SynclineError('invalid-argument', message, { details: { field: 'tls' } });
}

/** In a browser or worker nothing is printed: programs there must pass `onError`. */
function warnOnce(warning: string): (error: Error) => void {
  let hasWarned = false;
  return ({ message }) => {
    if (!hasWarned) globalThis.process?.emitWarning(`${warning}: ${message}`);
    hasWarned = true;
  };
}
