// Prints the settings as TOML, which can be saved as a configuration file, or as JSON. In TOML, unset values and
// secrets are comments.
import type { Paint } from '../paint.js';
import type { ConfigFact, ConfigFacts } from './config-facts.js';

export interface RenderOptions {
  readonly withOrigin: boolean;
  readonly paint: Paint;
}

export function renderConfigToml(
  { settings, secrets }: ConfigFacts,
  options: RenderOptions,
): string {
  const sections = [...new Set(settings.map(sectionOf))];
  const parts = sections.map((section) => {
    const facts = settings.filter((fact) => sectionOf(fact) === section);
    const title = section === '' ? '' : `${options.paint('bold', `[${section}]`)}\n`;
    return title + renderLines(facts.map(settingLine), options);
  });
  if (secrets.length > 0) {
    const lines = secrets.map(({ key, value, origin }) => ({
      text: `# ${key} = ${String(value)}`,
      origin,
    }));
    parts.push(`# Secrets in the environment\n${renderLines(lines, options)}`);
  }
  return parts.join('\n');
}

/** An object by key. Unset values are null; with origins, each entry is `{ value, origin }`. */
export function renderConfigJson(facts: ConfigFacts, { withOrigin }: RenderOptions): string {
  const entries = [...facts.settings, ...facts.secrets].map(({ key, value = null, origin }) => [
    key,
    withOrigin ? { value, origin } : value,
  ]);
  return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`;
}

interface Line {
  readonly text: string;
  /** Undefined for a setting that is not set. */
  readonly origin: string | undefined;
}

function settingLine({ key, value, origin }: ConfigFact): Line {
  const name = key.slice(key.lastIndexOf('.') + 1);
  if (value === undefined) return { text: `# ${name} is not set`, origin: undefined };
  return { text: `${name} = ${tomlValue(value)}`, origin };
}

function renderLines(lines: readonly Line[], { withOrigin, paint }: RenderOptions): string {
  const width = Math.max(...lines.map(({ text }) => text.length));
  return lines
    .map(({ text, origin }) => {
      const shown = text.startsWith('#') ? paint('dim', text) : text;
      if (!withOrigin || origin === undefined) return `${shown}\n`;
      const gap = ' '.repeat(width - text.length + 2);
      const color = origin === 'default' ? 'dim' : 'cyan';
      return `${shown}${gap}${paint(color, `# ${origin}`)}\n`;
    })
    .join('');
}

/** Numbers, booleans, strings and lists are the same in JSON and TOML. */
function tomlValue(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(tomlValue).join(', ')}]` : JSON.stringify(value);
}

function sectionOf({ key }: ConfigFact): string {
  return key.includes('.') ? key.slice(0, key.lastIndexOf('.')) : '';
}
