// Reads the TLS files and checks that they are usable, so that a wrong file is a startup error that names it
// rather than a TLS alert for the first client.
import { SynclineError } from '@syncline/kernel';
import { checkTlsMaterial } from '@syncline/kernel/node';
import { readInputFile } from './config-input-file.js';
import { findSetting, type ResolvedList } from './resolved-setting.js';
import type { TlsCredentials } from './server-config.js';
import { describeOrigin } from './setting-origin.js';

export interface TlsFound {
  readonly tls: TlsCredentials | undefined;
  readonly warnings: readonly string[];
}

interface PemFile {
  readonly key: string;
  readonly path: string;
  readonly text: string;
  readonly isWorldReadable: boolean;
}

export function readTlsFiles(list: ResolvedList): TlsFound {
  const cert = readPem(list, 'tls.cert_file');
  const key = readPem(list, 'tls.key_file');
  const ca = readPem(list, 'tls.ca_file');
  if (cert === undefined || key === undefined) return { tls: undefined, warnings: [] };
  const tls = { cert: cert.text, key: key.text, ca: ca?.text };
  try {
    checkTlsMaterial(tls);
  } catch (thrown) {
    throw nameFile(thrown, { cert, key, ca });
  }
  const warning = `${key.path} is a private key and every user can read it. Run: chmod 600 ${key.path}`;
  return { tls, warnings: key.isWorldReadable ? [warning] : [] };
}

function readPem(list: ResolvedList, key: string): PemFile | undefined {
  const { value, origin } = findSetting(list, key);
  if (typeof value !== 'string') return undefined;
  return { key, path: value, ...readInputFile(value, `${key} (from ${describeOrigin(origin)})`) };
}

type PemFiles = Readonly<Record<'cert' | 'key' | 'ca', PemFile | undefined>>;

/** The check only sees the content; this adds the file and the setting. */
function nameFile(thrown: unknown, files: PemFiles): unknown {
  if (!(thrown instanceof SynclineError)) return thrown;
  const { field } = thrown.details;
  const file = files[field as keyof PemFiles];
  if (file === undefined) return thrown;
  const message = `${file.key}: cannot use ${file.path}: ${thrown.message}.`;
  const details = { field: file.key, file: file.path };
  return new SynclineError('invalid-argument', message, { details, cause: thrown });
}
