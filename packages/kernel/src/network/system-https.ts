// HTTPS requests with a private CA or a client certificate, which `fetch` does not support.
//
// Node's modules are only loaded when they are needed, and without an import: programs that report from a browser or a
// worker contain this file, too.
import { SynclineError } from '../error.js';
import { openSslReason } from './network-error.js';

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

export interface HttpsRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

export interface HttpsAnswer {
  readonly status: number;
  readonly text: string;
}

export type HttpsSender = (target: URL, request: HttpsRequest) => Promise<HttpsAnswer>;

/** Throws `invalid-argument` if these certificates cannot work. Idle connections do not keep the process alive. */
export function createHttpsSender({ ca, cert, key, serverName }: ClientTls): HttpsSender {
  const { process } = globalThis;
  if (process?.getBuiltinModule === undefined)
    throw refusal('is set, but is only available in Node.js');
  if ((cert === undefined) !== (key === undefined))
    throw refusal('needs a client certificate and its key together, or neither');
  if (ca !== undefined && !ca.includes('BEGIN CERTIFICATE'))
    throw refusal('has a ca without a "BEGIN CERTIFICATE" block; expected PEM text');
  const { Agent, request: open } = process.getBuiltinModule('node:https');
  const { createSecureContext } = process.getBuiltinModule('node:tls');
  const agent = new Agent({
    keepAlive: true,
    secureContext: tryTo(() =>
      createSecureContext({
        ...(ca !== undefined && { ca }),
        ...(cert !== undefined && key !== undefined && { cert, key }),
      }),
    ),
    ...(serverName !== undefined && { servername: serverName }),
  });
  return (target, { body, ...options }) =>
    new Promise((resolve, reject) => {
      const sent = open(target, { ...options, agent }, (response) => {
        const parts: string[] = [];
        response.setEncoding('utf8').on('error', reject);
        response.on('data', (part: string) => parts.push(part));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: parts.join('') }),
        );
      });
      sent.on('error', reject).end(body);
    });
}

function tryTo<T>(create: () => T): T {
  try {
    return create();
  } catch (thrown) {
    throw refusal(`cannot be used (${openSslReason(thrown)}); expected PEM texts`, thrown);
  }
}

function refusal(why: string, cause?: unknown): SynclineError {
  const options = { details: { field: 'tls' }, cause };
  return new SynclineError('invalid-argument', `tls ${why}`, options);
}
