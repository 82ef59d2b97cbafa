// A Logger that writes into the trace, so that the tail of a failed run shows the log of the nodes.
import type { LogFields, Logger } from '../logger.js';
import type { Scheduler } from './scheduler.js';

export function createSimLogger(scheduler: Scheduler, name: string, bound: LogFields = {}): Logger {
  const log = (level: string) => (msg: string, fields?: LogFields) =>
    scheduler.note(level, `${name}: ${msg}${formatFields({ ...bound, ...fields })}`);
  return {
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
    child: (fields) => createSimLogger(scheduler, name, { ...bound, ...fields }),
  };
}

/** Plain values only: the text of an object may differ from run to run. */
function formatFields(fields: LogFields): string {
  return Object.entries(fields)
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
    .map(([name, value]) => ` ${name}=${String(value)}`)
    .join('');
}
