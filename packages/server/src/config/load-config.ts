// Loads a ServerConfig: reads the configuration file, resolves the settings, then reads the credentials
// that they name.
import { SynclineError } from '@syncline/kernel';
import { readInputFile } from './config-input-file.js';
import { type FlagValue, type ResolvedSettings, resolveSettings } from './resolve-settings.js';
import type { ResolvedList } from './resolved-setting.js';
import { SECRETS } from './secret-list.js';
import { readSecret } from './secret-value.js';
import type { ServerConfig } from './server-config.js';
import type { Environment } from './settings-environment.js';
import { readTlsFiles } from './tls-files.js';

export interface ConfigSources {
  /** The TOML file. Default: the one that SYNCLINE_CONFIG names, or none. */
  readonly file?: string;
  /** By key: `http.port` to `'7500'`. */
  readonly flags?: ReadonlyMap<string, FlagValue>;
  readonly environment: Environment;
}

export interface LoadedConfig {
  readonly config: ServerConfig;
  /** Every setting with its origin. */
  readonly list: ResolvedList;
  /** For the operator: things that work but should be fixed. */
  readonly warnings: readonly string[];
}

/** Only the settings, without reading the files that they name. */
export function loadSettings(sources: ConfigSources): ResolvedSettings {
  const { environment, flags = new Map<string, FlagValue>() } = sources;
  const { SYNCLINE_CONFIG: named } = environment;
  const name = sources.file ?? (named === '' ? undefined : named);
  const origin = sources.file === undefined ? 'SYNCLINE_CONFIG' : '--config';
  const file = name === undefined ? undefined : { name, text: readInputFile(name, origin).text };
  return resolveSettings({ flags, environment, file });
}

export function loadConfig(sources: ConfigSources): LoadedConfig {
  const { settings, list } = loadSettings(sources);
  const { tls, warnings: tlsWarnings } = readTlsFiles(list);
  const token = readSecret(SECRETS.token, list, sources.environment);
  const metricsToken = readSecret(SECRETS.metricsToken, list, sources.environment);
  const respPassword = readSecret(SECRETS.respPassword, list, sources.environment);
  const meshSecret = readSecret(SECRETS.meshSecret, list, sources.environment);
  const redisPassword = readSecret(SECRETS.fairRedisPassword, list, sources.environment);
  const postgresUrl = readSecret(SECRETS.jobsPostgresUrl, list, sources.environment);
  if (settings.jobs.store === 'postgres' && postgresUrl.secret === undefined)
    throw new SynclineError(
      'invalid-argument',
      'jobs.store is "postgres" but jobs.postgres.url_file is not set. Set it to a file that contains the database URL: postgresql://user:password@host/database',
      { details: { field: 'jobs.postgres.url_file' } },
    );
  const credentials = {
    tls,
    token: token.secret,
    metricsToken: metricsToken.secret,
    respPassword: respPassword.secret,
    meshSecret: meshSecret.secret,
    fairRedisPassword: redisPassword.secret,
    jobsPostgresUrl: postgresUrl.secret,
  };
  const secrets = [token, metricsToken, respPassword, meshSecret, redisPassword, postgresUrl];
  return {
    config: { ...settings, credentials },
    list,
    warnings: [tlsWarnings, ...secrets.map(({ warnings }) => warnings)].flat(),
  };
}
