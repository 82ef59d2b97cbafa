// Certificates, keys and authorities, checked before they are used.
//
// OpenSSL would say `error:0A000074` or nothing at all, and often only when the first client connects. A server
// calls this at start instead, and gets one sentence that names the part that is wrong.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { SynclineError } from '../error.js';
import { openSslReason } from './network-error.js';

/** PEM text, as a string or as the bytes of a file. */
export type Pem = string | Uint8Array;

export interface TlsMaterial {
  /** Certificate chain, own certificate first. */
  readonly cert?: Pem | undefined;
  /** The private key of the first certificate, without a passphrase. */
  readonly key?: Pem | undefined;
  /** Authorities that peers are checked against. Default, for servers: those that Node trusts. */
  readonly ca?: Pem | undefined;
}

/** `details.reason` when TLS material is refused; `details.field` names the part. */
export type TlsFlaw =
  | 'missing'
  | 'not-pem'
  | 'unreadable'
  | 'encrypted'
  | 'mismatch'
  | 'expired'
  | 'not-yet-valid';

type TlsField = keyof TlsMaterial;

const FIELD_NAMES: Readonly<Record<TlsField, string>> = {
  cert: 'TLS certificate',
  key: 'TLS key',
  ca: 'TLS CA certificate',
};

/** Throws `invalid-argument` for the first part that cannot work. Parts may be missing. */
export function checkTlsMaterial(material: TlsMaterial, nowMs = Date.now()): void {
  const { cert, key, ca } = material;
  if (cert !== undefined || key !== undefined) {
    const own = readCertificates('cert', cert)[0];
    checkKey(own, key);
    checkDates('cert', own, nowMs);
  }
  if (ca !== undefined) {
    const authorities = readCertificates('ca', ca);
    const isCurrent = (one: X509Certificate) => Date.parse(one.validTo) >= nowMs;
    if (!authorities.some(isCurrent)) checkDates('ca', authorities[0], nowMs);
  }
  try {
    createSecureContext(contextOptions(material));
  } catch (error) {
    throw flaw('cert', 'unreadable', `is refused by OpenSSL (${openSslReason(error)})`, error);
  }
}

/** What Node's `tls` takes, for both directions. */
export function contextOptions({ cert, key, ca }: TlsMaterial): SecureContextOptions {
  return {
    minVersion: 'TLSv1.2',
    ...(cert === undefined ? {} : { cert: pemText(cert) }),
    ...(key === undefined ? {} : { key: pemText(key) }),
    ...(ca === undefined ? {} : { ca: pemText(ca) }),
  };
}

type Certificates = readonly [X509Certificate, ...X509Certificate[]];

function readCertificates(field: 'cert' | 'ca', pem: Pem | undefined): Certificates {
  if (pem === undefined) throw flaw(field, 'missing', 'is missing, though its key is given');
  const text = pemText(pem);
  const blocks = text.match(/-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs) ?? [];
  try {
    const [first, ...others] = blocks.map((block) => new X509Certificate(block));
    if (first) return [first, ...others];
  } catch (error) {
    throw flaw(field, 'unreadable', `cannot be read (${openSslReason(error)})`, error);
  }
  const hint = text.includes('PRIVATE KEY-----')
    ? 'it holds a key; are the files swapped?'
    : hintFor(text);
  throw flaw(field, 'not-pem', `has no "BEGIN CERTIFICATE" block (${hint})`);
}

/** PEM text has spaces; a path has none. */
function hintFor(text: string): string {
  const isPath = /^[^\s]*[./][^\s]*$/.test(text);
  return isPath ? 'it looks like the name of a file; pass the text of the file' : 'PEM?';
}

function checkKey(certificate: X509Certificate, pem: Pem | undefined): void {
  if (pem === undefined) throw flaw('key', 'missing', 'is missing, though a certificate is given');
  const text = pemText(pem);
  if (!text.includes('PRIVATE KEY-----'))
    throw flaw('key', 'not-pem', `has no "BEGIN PRIVATE KEY" block (${hintFor(text)})`);
  if (text.includes('ENCRYPTED'))
    throw flaw('key', 'encrypted', 'is encrypted; use one without a passphrase');
  let isOfCertificate: boolean;
  try {
    isOfCertificate = certificate.checkPrivateKey(createPrivateKey(text));
  } catch (error) {
    throw flaw('key', 'unreadable', `cannot be read (${openSslReason(error)})`, error);
  }
  if (!isOfCertificate) {
    const subject = subjectOf(certificate);
    throw flaw('key', 'mismatch', `does not belong to the certificate of ${subject}`);
  }
}

function checkDates(field: 'cert' | 'ca', certificate: X509Certificate, nowMs: number): void {
  const { validFrom, validTo } = certificate;
  const subject = subjectOf(certificate);
  if (nowMs > Date.parse(validTo))
    throw flaw(field, 'expired', `of ${subject} expired on ${validTo}; create a new one`);
  if (nowMs < Date.parse(validFrom))
    throw flaw(
      field,
      'not-yet-valid',
      `of ${subject} is not valid before ${validFrom}; is the clock right?`,
    );
}

function pemText(pem: Pem): string {
  return typeof pem === 'string' ? pem : new TextDecoder().decode(pem);
}

function subjectOf(certificate: X509Certificate): string {
  return certificate.subject?.replaceAll('\n', ', ') ?? 'no subject';
}

function flaw(field: TlsField, reason: TlsFlaw, what: string, cause?: unknown): SynclineError {
  const details = { field, reason };
  return new SynclineError('invalid-argument', `the ${FIELD_NAMES[field]} ${what}`, {
    details,
    cause,
  });
}
