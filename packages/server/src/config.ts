// The entry point `@syncline/server/config`: the settings and the log format of a server, without the server
// itself. Programs that do not run a server load in a third of the time.
export { renderConfigDoc } from './config/config-doc.js';
export { readInputFile } from './config/config-input-file.js';
export { checkListenHost } from './config/exposure.js';
export {
  type ConfigSources,
  type LoadedConfig,
  loadConfig,
  loadSettings,
} from './config/load-config.js';
export type { FlagValue, ResolvedSettings } from './config/resolve-settings.js';
export type { ResolvedSetting } from './config/resolved-setting.js';
export { Secret } from './config/secret.js';
export { SECRET_LIST, type SecretSource } from './config/secret-list.js';
export type { ServerConfig, ServerCredentials, TlsCredentials } from './config/server-config.js';
export { SETTING_LIST, type SettingEntry } from './config/setting-list.js';
export { describeOrigin, type SettingOrigin } from './config/setting-origin.js';
export type { ServerSettings } from './config/settings-schema.js';
export { type UsedPort, usedPorts } from './config/used-ports.js';
export { formatLogLine } from './logs/log-line.js';
