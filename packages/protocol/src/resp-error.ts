// SynclineError as a RESP error line, without its `-` and line end. A line break inside would end the
// reply early and let the rest be read as another one, so breaks become blanks.
import type { SynclineError } from '@syncline/kernel';
import { ERROR_TABLE } from './error-table.js';
import { wireMessage } from './wire-error.js';

export function respErrorOf(error: SynclineError): string {
  return `${ERROR_TABLE[error.code].resp} ${wireMessage(error).replace(/[\r\n]+/g, ' ')}`;
}
