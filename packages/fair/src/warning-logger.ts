// The default logger: what an operator must know becomes a warning of Node, which goes to standard error unless the
// program listens for it. The rest is dropped, and in a browser or worker everything is: programs there must pass a
// logger.
import type { LogFields, Logger } from '@syncline/kernel';

export const warningLogger: Logger = createWarningLogger({});

function createWarningLogger(own: LogFields): Logger {
  const tell = (msg: string, fields?: LogFields): void =>
    globalThis.process?.emitWarning(`@syncline/fair: ${msg}${fieldsText({ ...own, ...fields })}`);
  return {
    debug() {},
    info() {},
    warn: tell,
    error: tell,
    child: (fields) => createWarningLogger({ ...own, ...fields }),
  };
}

/** ` (tracker: api, skewMs: 40000)`. */
function fieldsText(fields: LogFields): string {
  const parts = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${String(value)}`);
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}
