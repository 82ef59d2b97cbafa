// SynclineError as a RESP error line, without its `-` and line end. A line break inside would end the reply early and
// let the rest be read as another one, so breaks become blanks. Names of files stay in the log of the server.
import type { SynclineError } from '@syncline/kernel';
import { ERROR_TABLE, type RespPrefix } from './error-table.js';
import { wireMessage } from './wire-error.js';

export function respErrorOf(
  error: SynclineError,
  prefix: RespPrefix = ERROR_TABLE[error.code].resp,
): string {
  return `${prefix} ${withoutPaths(wireMessage(error)).replace(/[\r\n]+/g, ' ')}`;
}

/** For readers who are not operators: absolute paths of two or more names are replaced. */
export function withoutPaths(text: string): string {
  return text.replace(/(?:\/[^\s/'":,;()]+){2,}\/?/g, '(path)');
}
