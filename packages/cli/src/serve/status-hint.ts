// The status command for this server, to paste into another terminal. Settings in the configuration file are
// left to `--config`, which also provides the token and the certificates. What only this terminal knows cannot
// be pasted, so it is mentioned beside the command.
import type { ListeningAddress } from '@syncline/server';
import type { ResolvedSetting, ServerSettings } from '@syncline/server/config';
import { httpUrl, ownUrl, reachableHost } from '../own-url.js';

export interface StatusHint {
  readonly command: string;
  /** What the other terminal needs besides. */
  readonly remarks: readonly string[];
}

export interface StatusHintSources {
  readonly settings: ServerSettings;
  readonly list: readonly ResolvedSetting[];
  /** The value of `--config`. */
  readonly file: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const ADDRESS_KEYS: readonly string[] = ['listen_host', 'http.port', 'tls.cert_file'];

export function statusHint(http: ListeningAddress, sources: StatusHintSources): StatusHint {
  const { settings, list, environment } = sources;
  const { SYNCLINE_CONFIG: variable = '', SYNCLINE_TOKEN: token = '' } = environment;
  const file = sources.file ?? variable;
  const { certFile, caFile } = settings.tls;
  const url = httpUrl(reachableHost(http.host), http.port, certFile !== undefined);
  const isFound = url === ownUrl(settings) && addressIsWritten(list);
  const parts = [
    'npx syncline status',
    ...(file === '' ? [] : [`--config ${shellWord(file)}`]),
    ...(isFound ? [] : [`--url ${url}`]),
  ];
  const needsVariables = token !== '' || list.some(isCredentialInEnvironment);
  const isPrivate = certFile !== undefined && caFile === undefined && file === '';
  return {
    command: parts.join(' '),
    remarks: [
      ...(needsVariables ? ['with the same SYNCLINE_* variables as here'] : []),
      ...(isPrivate ? ['with --ca-file FILE, if the certificate is signed by a private CA'] : []),
    ],
  };
}

/** A flag or a variable of this terminal is not known in the other one. */
function addressIsWritten(list: readonly ResolvedSetting[]): boolean {
  return list
    .filter(({ entry }) => ADDRESS_KEYS.includes(entry.key))
    .every(({ origin }) => origin.kind === 'default' || origin.kind === 'file');
}

function isCredentialInEnvironment({ entry, origin }: ResolvedSetting): boolean {
  return /^(tls|auth)\./.test(entry.key) && origin.kind === 'environment';
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
