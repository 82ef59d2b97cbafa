// The default logger: what an operator must know becomes a warning of Node, which goes to standard error unless the
// program listens for it. The rest is dropped, and in a browser or worker everything is: programs there must pass a
// logger.
import type { LogFields, Logger } from '@syncline/kernel';

export const warningLogger: Logger = createWarningLogger({});

function createWarningLogger(own: LogFields): Logger {
  const report = (msg: string, fields?: LogFields): void =>
    globalThis.process?.emitWarning(`@syncline/fair: ${msg}${fieldsText({ ...own, ...fields })}`);
  return {
    debug() {},
    info() {},
    warn: report,
    error: report,
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

// Handles errors that can no longer be sent in an answer. They must not end the process, and must not vanish.
// The first one is logged; repeats would only fill the log.

export type LostErrors = (msg: string, cause: unknown) => void;

export function createLostErrors(logger: Pick<Logger, 'error'> = warningLogger): LostErrors {
  let hasReported = false;
  return (msg, cause) => {
    if (hasReported) return;
    hasReported = true;
    logger.error(msg, { cause });
  };
}
