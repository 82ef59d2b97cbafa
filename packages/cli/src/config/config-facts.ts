// What `config show` prints: every setting, and for secrets only whether they are set.
import {
  describeOrigin,
  type ResolvedSetting,
  SECRET_LIST,
  type SettingOrigin,
} from '@syncline/server/config';

export interface ConfigFact {
  /** `tls.cert_file` */
  readonly key: string;
  /** Undefined when it is not set. */
  readonly value: unknown;
  readonly origin: string;
}

export interface ConfigFacts {
  readonly settings: readonly ConfigFact[];
  /** Secrets in environment variables; they show as `***`. */
  readonly secrets: readonly ConfigFact[];
}

export function configFacts(
  list: readonly ResolvedSetting[],
  environment: Readonly<Record<string, string | undefined>>,
): ConfigFacts {
  const settings = list.map(({ entry, value, origin }) => ({
    key: entry.key,
    value,
    origin: describeOrigin(origin),
  }));
  const secrets = SECRET_LIST.filter(({ env }) => (environment[env] ?? '') !== '').map(
    ({ env, fileKey }) => {
      const origin: SettingOrigin = { kind: 'environment', name: env };
      return { key: fileKey.replace(/_file$/, ''), value: '***', origin: describeOrigin(origin) };
    },
  );
  return { settings, secrets };
}
