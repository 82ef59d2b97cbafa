// Reads the TLS files and proves that they can be used, so that a wrong file is an error at start that
// names it, and not an alert at the first client.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { SynclineError } from '@syncline/kernel';
import { readInputFile } from './config-input-file.js';
import { findSetting, type ResolvedList } from './resolved-setting.js';
import type { TlsMaterial } from './server-config.js';
import { describeOrigin } from './setting-origin.js';

export interface TlsFound {
  readonly tls: TlsMaterial | undefined;
  readonly warnings: readonly string[];
}

interface PemFile {
  readonly key: string;
  readonly path: string;
  readonly text: string;
  readonly isWorldReadable: boolean;
}

export function readTlsMaterial(list: ResolvedList, nowMs: number): TlsFound {
  const certFile = readPem(list, 'tls.cert_file');
  const keyFile = readPem(list, 'tls.key_file');
  const caFile = readPem(list, 'tls.ca_file');
  if (certFile === undefined || keyFile === undefined) return { tls: undefined, warnings: [] };
  const certificate = parseCertificate(certFile);
  const ca = caFile === undefined ? undefined : parseCertificate(caFile);
  if (!certificate.checkPrivateKey(parseKey(keyFile)))
    throw bad(keyFile, `it does not belong to the certificate in ${certFile.path}`);
  const tls = { cert: certFile.text, key: keyFile.text, ca: caFile?.text };
  checkUsable(tls, certFile);
  const warnings = [
    ...validityWarnings(certificate, certFile, nowMs),
    ...(ca === undefined || caFile === undefined ? [] : validityWarnings(ca, caFile, nowMs)),
    ...(keyFile.isWorldReadable
      ? [
          `${keyFile.path} is a private key and every user can read it. Run: chmod 600 ${keyFile.path}`,
        ]
      : []),
  ];
  return { tls, warnings };
}

function readPem(list: ResolvedList, key: string): PemFile | undefined {
  const { value, origin } = findSetting(list, key);
  if (typeof value !== 'string') return undefined;
  return { key, path: value, ...readInputFile(value, `${key} (from ${describeOrigin(origin)})`) };
}

function parseCertificate(file: PemFile): X509Certificate {
  try {
    return new X509Certificate(file.text);
  } catch (thrown) {
    throw bad(file, 'it holds no PEM certificate ("-----BEGIN CERTIFICATE-----")', thrown);
  }
}

function parseKey(file: PemFile): KeyObject {
  if (file.text.includes('ENCRYPTED'))
    throw bad(file, 'the key is protected by a passphrase; store it without one');
  try {
    return createPrivateKey(file.text);
  } catch (thrown) {
    throw bad(file, 'it holds no PEM private key ("-----BEGIN PRIVATE KEY-----")', thrown);
  }
}

/** What OpenSSL refuses for other reasons, such as a key that is too short. */
function checkUsable(tls: TlsMaterial, file: PemFile): void {
  try {
    createSecureContext({ cert: tls.cert, key: tls.key, ...(tls.ca ? { ca: tls.ca } : {}) });
  } catch (thrown) {
    throw bad(file, (thrown as Error).message, thrown);
  }
}

function validityWarnings(
  certificate: X509Certificate,
  file: PemFile,
  nowMs: number,
): readonly string[] {
  if (Date.parse(certificate.validTo) < nowMs)
    return [
      `the certificate in ${file.path} expired on ${certificate.validTo}. Clients will refuse it.`,
    ];
  if (Date.parse(certificate.validFrom) > nowMs)
    return [`the certificate in ${file.path} is not valid before ${certificate.validFrom}.`];
  return [];
}

function bad(file: PemFile, reason: string, cause?: unknown): SynclineError {
  return new SynclineError('invalid-argument', `${file.key}: cannot use ${file.path}: ${reason}.`, {
    details: { field: file.key, file: file.path },
    cause,
  });
}
