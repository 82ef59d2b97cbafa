// docs/CONFIG.md, made from the settings.
import { SECRET_CHARACTERS_MIN } from './exposure.js';
import { SECRET_LIST } from './secret-list.js';
import { SETTING_LIST, type SettingEntry } from './setting-list.js';
import { OTHER_VARIABLES } from './settings-environment.js';

const HEAD = `# Configuration

Flags override environment variables, which override the TOML file, which overrides the defaults.
\`syncline config show --origin\` prints every effective value and where it came from. The file is
given by \`--config\` or \`SYNCLINE_CONFIG\`; there is no default file. Unknown keys and unknown
\`SYNCLINE_*\` variables are errors; an empty variable counts as not set. In a variable, the items of a
list are separated by commas. File names are relative to the working directory.

\`\`\`toml
node_id = 2
data_dir = "/var/lib/syncline"

[http]
port = 7410

[mesh]
peers = ["1@10.0.0.1:7403", "3@10.0.0.3:7403"]
secret_file = "/etc/syncline/mesh-secret"
\`\`\`
`;

export function renderConfigDoc(): string {
  const sections = [...new Set(SETTING_LIST.map(sectionOf))];
  return [HEAD, ...sections.map(renderSection), renderSecrets(), renderOthers()].join('\n');
}

function sectionOf(entry: SettingEntry): string {
  return entry.path.slice(0, -1).join('.');
}

function renderSection(section: string): string {
  const rows = SETTING_LIST.filter((entry) => sectionOf(entry) === section).map(renderRow);
  return `## ${section === '' ? 'The node' : `[${section}]`}

| key | default | meaning | allowed | variable and flag |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`;
}

function renderRow({ key, defaultValue, env, flag, meta }: SettingEntry): string {
  const value = defaultValue === undefined ? 'not set' : `\`${JSON.stringify(defaultValue)}\``;
  const names = flag === undefined ? `\`${env}\`` : `\`${env}\`, \`${flag}\``;
  return `| \`${key}\` | ${value} | ${meta.help} | ${meta.allowed} | ${names} |`;
}

function renderSecrets(): string {
  const rows = SECRET_LIST.map(
    ({ what, env, fileKey }) => `| ${what} | \`${fileKey}\` | \`${env}\` |`,
  );
  return `## Secrets

A secret comes from a file or from the environment, never from a flag, because every user of a machine
can read the flags of its processes. A newline at the end of the file is ignored; an empty file is an
error. On a non-loopback address, the token, the metrics token, the RESP password and the mesh secret must
have at least ${SECRET_CHARACTERS_MIN} characters. \`config show\` prints the name of the file, or \`***\`.

| secret | setting that names its file | variable that holds it |
| --- | --- | --- |
${rows.join('\n')}
`;
}

function renderOthers(): string {
  const rows = Object.entries(OTHER_VARIABLES).map(
    ([name, effect]) => `| \`${name}\` | ${effect} |`,
  );
  return `## Other variables of the command line

| variable | effect |
| --- | --- |
${rows.join('\n')}
`;
}
