// Logging as a port. `msg` is constant and values go into fields, so that lines can be counted.
// No keys, elements, payloads or tokens in any field.

export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(msg: string, fields?: LogFields): void;
  info(msg: string, fields?: LogFields): void;
  warn(msg: string, fields?: LogFields): void;
  error(msg: string, fields?: LogFields): void;
  /** A logger that adds `fields` to each line. */
  child(fields: LogFields): Logger;
}

export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};

/**
 * The default logger of client libraries: what an operator must know becomes a Node.js process warning, which goes to
 * standard error unless the program listens for it. The rest is dropped, and in a browser or worker everything is: programs
 * there must pass a logger. `name` is that of the package.
 */
export function createWarningLogger(name: string, own: LogFields = {}): Logger {
  const report = (msg: string, fields?: LogFields): void =>
    globalThis.process?.emitWarning(`${name}: ${msg}${fieldsText({ ...own, ...fields })}`);
  return {
    debug() {},
    info() {},
    warn: report,
    error: report,
    child: (fields) => createWarningLogger(name, { ...own, ...fields }),
  };
}

/** ` (tracker: api, skewMs: 40000)`. */
function fieldsText(fields: LogFields): string {
  const parts = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${String(value)}`);
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}
