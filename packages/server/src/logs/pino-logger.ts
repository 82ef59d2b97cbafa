// The kernel's Logger port over pino: one line of JSON per event, or a compact line for a terminal.
import { type LogFields, type Logger, SynclineError } from '@syncline/kernel';
import { type Logger as Pino, pino, stdTimeFunctions } from 'pino';
import { formatLogLine } from './log-line.js';

export interface LogStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

export interface PinoLoggerOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
}

/** Readable lines on a terminal, JSON elsewhere. The stream is usually `process.stderr`. */
export function createPinoLogger(
  deps: { readonly stream: LogStream },
  options: PinoLoggerOptions,
): Logger {
  const { stream } = deps;
  const destination =
    stream.isTTY === true
      ? { write: (line: string) => void stream.write(formatLogLine(line)) }
      : { write: (line: string) => void stream.write(line) };
  const root = pino(
    {
      level: options.level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: plainFields },
    },
    destination,
  );
  return fromPino(root);
}

function fromPino(target: Pino): Logger {
  return {
    debug: (msg, fields = {}) => target.debug(fields, msg),
    info: (msg, fields = {}) => target.info(fields, msg),
    warn: (msg, fields = {}) => target.warn(fields, msg),
    error: (msg, fields = {}) => target.error(fields, msg),
    child: (fields) => fromPino(target.child(plainFields(fields))),
  };
}

/** JSON would turn an Error into `{}`. */
function plainFields(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error ? plainError(value) : value,
    ]),
  );
}

/** An expected error is logged as code and message, any other with its stack. */
function plainError(error: Error): Record<string, unknown> {
  if (error instanceof SynclineError) return { code: error.code, message: error.message };
  return { message: error.message, stack: error.stack };
}
