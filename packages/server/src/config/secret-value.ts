// Reads a secret from its file or from its variable. Errors name the file or variable, never the value.
import { SynclineError } from '@syncline/kernel';
import { serverLimits } from '../limits.js';
import { readInputFile } from './config-input-file.js';
import { findSetting, type ResolvedList } from './resolved-setting.js';
import { Secret } from './secret.js';
import type { SecretSource } from './secret-list.js';
import { describeOrigin } from './setting-origin.js';
import type { Environment } from './settings-environment.js';

export interface SecretFound {
  readonly secret: Secret | undefined;
  readonly warnings: readonly string[];
}

export function readSecret(
  source: SecretSource,
  list: ResolvedList,
  environment: Environment,
): SecretFound {
  const setting = findSetting(list, source.fileKey);
  const direct = environment[source.env];
  if (direct !== undefined && direct !== '') {
    // The variable overrides the TOML file; neither variable overrides the other.
    if (setting.origin.kind === 'environment')
      throw invalid(source, `${source.env} and ${setting.entry.env} are both set. Unset one.`);
    return { secret: checkSecret(direct, source, source.env), warnings: [] };
  }
  if (typeof setting.value !== 'string') return { secret: undefined, warnings: [] };
  const path = setting.value;
  const what = `${source.fileKey} (from ${describeOrigin(setting.origin)})`;
  const file = readInputFile(path, what, serverLimits.secretFileBytesMax.value);
  const secret = checkSecret(file.text.replace(/\r?\n$/, ''), source, path);
  const warning = `${path} contains ${source.what} and every user can read it. Run: chmod 600 ${path}`;
  return { secret, warnings: file.isWorldReadable ? [warning] : [] };
}

/** Printable ASCII without spaces: the only form that a header, AUTH and a shell all pass on unchanged. */
function checkSecret(text: string, source: SecretSource, place: string): Secret {
  if (text === '') throw invalid(source, `${place} is empty. It must contain ${source.what}.`);
  if (!/^[!-~]+$/.test(text))
    throw invalid(
      source,
      `${source.what} in ${place} contains spaces, line breaks or non-ASCII characters. Use a string like the output of "openssl rand -hex 32".`,
    );
  return new Secret(text);
}

function invalid(source: SecretSource, message: string): SynclineError {
  return new SynclineError('invalid-argument', message, { details: { field: source.fileKey } });
}
