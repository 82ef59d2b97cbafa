// Explains why a server could not be reached, and what to do next.
import { type Outcome, SynclineError } from '@syncline/kernel';
import type { StatusTarget } from './status-target.js';

interface Explanation {
  readonly reason: string;
  readonly advice: string;
}

/** An error of Node's HTTP client. `cert` is the certificate that does not name the host. */
type Cause = NodeJS.ErrnoException & { readonly cert?: { readonly subjectaltname?: string } };

const START =
  'No server seems to be running there. Start one with "npx syncline serve", or pass --url.';

function explainByCode(target: StatusTarget, cause: Cause): Explanation | undefined {
  switch (causeCode(cause)) {
    case 'ECONNREFUSED':
      return { reason: 'connection refused', advice: START };
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return { reason: 'unknown host name', advice: checkHost(target) };
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return { reason: 'host unreachable', advice: checkHost(target) };
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return explainOtherHost(target, cause);
    case 'CERT_HAS_EXPIRED':
      return {
        reason: 'its certificate has expired',
        advice: 'Install a new certificate on the server.',
      };
    case 'ABORT_ERR':
    case 'ETIMEDOUT':
      return { reason: 'timed out', advice: 'The server may be down or overloaded.' };
    default:
      return undefined;
  }
}

/** More would hide the advice. */
const SHOWN_HOSTS_MAX = 10;

/** Node writes the names as `DNS:localhost, IP Address:127.0.0.1, URI:…`. */
function explainOtherHost(target: StatusTarget, { cert }: Cause): Explanation {
  const hosts = (cert?.subjectaltname?.split(', ') ?? [])
    .filter((name) => /^(DNS|IP Address):/.test(name))
    .map((name) => name.replace(/^[^:]*:/, ''));
  const named = hosts.slice(0, SHOWN_HOSTS_MAX).join(', ');
  const more = hosts.length > SHOWN_HOSTS_MAX ? ', …' : '';
  return {
    reason: `its certificate is for ${named === '' ? 'a different host' : `${named}${more}`}`,
    advice: `${capitalized(useInUrl(target, 'a host name that is in the certificate'))}.`,
  };
}

/** A read changes nothing, so its outcome is always `not-applied`; that of a change may be unknown. */
export function unreachableError(
  target: StatusTarget,
  cause: Cause,
  outcome: Outcome = 'not-applied',
): SynclineError {
  const { reason, advice } = explain(target, cause);
  return new SynclineError(
    'unavailable',
    `cannot reach ${target.shownUrl} (${reason}). ${advice}`,
    { cause, outcome },
  );
}

function explain(target: StatusTarget, cause: Cause): Explanation {
  const code = causeCode(cause);
  const firstLine = cause.message.split('\n')[0] ?? '';
  const reason = code === 'ECONNRESET' ? 'the connection was lost' : firstLine;
  const known = explainByCode(target, cause);
  if (known !== undefined) return known;
  if (/_ALERT_/.test(code)) return explainAlert(target, reason);
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(code)) return explainDistrust(target, reason);
  if (/wrong version number|packet length too long/.test(cause.message))
    return { reason: 'it does not use TLS', advice: plainServerAdvice(target) };
  const ifTls = `If it uses TLS, ${useInUrl(target, 'https://')}.`;
  if (code.startsWith('HPE_'))
    return { reason: 'it does not speak HTTP', advice: `${ANOTHER_PORT} ${ifTls}` };
  if (target.url.protocol === 'http:') return { reason, advice: ifTls };
  const ifPlain = `If it does not use TLS, ${useInUrl(target, 'http://')}.`;
  return { reason, advice: `${ifPlain} If it requires a client certificate, ${PASS_PAIR}.` };
}

const ANOTHER_PORT =
  'It is probably another listener of the server: by default HTTP is on 7400, gRPC on 7401, RESP on 7402.';

const PASS_PAIR =
  'pass --cert-file and --key-file, or --config with tls.cert_file and tls.key_file';

/** With TLS in the settings of this server, one that does not use it is another one. */
function plainServerAdvice(target: StatusTarget): string {
  return target.urlSource === 'configuration'
    ? otherServerAdvice(target)
    : `${capitalized(useInUrl(target, 'http://'))}.`;
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** The server aborts the handshake only because of the client's certificate. */
function explainAlert({ cert }: StatusTarget, reason: string): Explanation {
  if (cert === undefined)
    return {
      reason: 'it requires a client certificate',
      advice: `${capitalized(PASS_PAIR)}.`,
    };
  const alert = /alert [a-z ]+/.exec(reason)?.[0] ?? 'alert';
  return {
    reason: `it refused the TLS handshake: ${alert}`,
    advice: 'The client certificate was probably not signed by the tls.ca_file of the server.',
  };
}

function explainDistrust({ ca }: StatusTarget, reason: string): Explanation {
  const signer =
    ca === undefined
      ? 'Pass the CA that signed it with --ca-file.'
      : 'It was not signed by the given CA.';
  return { reason: `its certificate is not trusted: ${reason}`, advice: signer };
}

/** Node tries every address of a host and throws an AggregateError if all fail; the first error is enough. */
function causeCode(cause: Cause): string {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  return (first as NodeJS.ErrnoException | undefined)?.code ?? '';
}

// Advice about the URL, which names what to change: the option, the variable, or the settings.

type Given = Pick<StatusTarget, 'urlSource'>;

/** `use http:// in --url`, without a full stop. */
function useInUrl({ urlSource }: Given, part: string): string {
  return urlSource === 'configuration' ? `pass --url with ${part}` : `use ${part} in ${urlSource}`;
}

function checkHost({ urlSource }: Given): string {
  return urlSource === 'configuration'
    ? 'Check listen_host in the configuration, or pass --url.'
    : `Check the host in ${urlSource}.`;
}

/** For an answer that the server of this configuration would not give. */
export function otherServerAdvice({ urlSource }: Given): string {
  if (urlSource !== 'configuration') return `Check ${urlSource}.`;
  return 'The address comes from the configuration: another server seems to use this port. Stop that one, or pass --url.';
}
