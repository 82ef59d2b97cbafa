// Formats pino's JSON for a terminal: `12:00:00.000 warn  limit reached limit=x times=3`.

/** Text that is not JSON is returned unchanged: logging must never fail. */
export function formatLogLine(json: string): string {
  const fields = parseFields(json);
  if (fields === undefined) return json;
  const { level, time, msg, ...rest } = fields;
  const clock = String(time).slice(11, 23);
  const pairs = Object.entries(rest).map(([name, value]) => ` ${name}=${formatValue(value)}`);
  return `${clock} ${String(level).padEnd(5)} ${String(msg)}${pairs.join('')}\n`;
}

function parseFields(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(json);
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : undefined;
  } catch {
    return undefined;
  }
}

/** Unquoted if unambiguous; otherwise as JSON, which also keeps control characters off the terminal. */
function formatValue(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/@-]+$/.test(value) ? value : JSON.stringify(value);
}
