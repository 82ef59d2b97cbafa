// The status command for this server, to be pasted into another terminal. If there is a configuration file, it is
// passed as `--config`, which also provides the token and the certificates. Anything else that the other terminal
// needs, such as variables, is mentioned next to the command.
import type { ListeningAddress } from '@syncline/server';
import type { ResolvedSetting, ServerSettings } from '@syncline/server/config';
import { httpUrl, ownUrl, reachableHost } from '../own-url.js';

export interface StatusHint {
  readonly command: string;
  /** What else the other terminal needs. */
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

/** Flags and variables of this terminal do not apply in the other one. */
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
