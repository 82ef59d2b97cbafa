// Where an error goes that no answer can carry any more. It must not end the process, and it must not vanish.
// The first one tells; more of the same would only fill the log.
import type { Logger } from '@syncline/kernel';
import { warningLogger } from '../warning-logger.js';

export type LostErrors = (msg: string, cause: unknown) => void;

export function createLostErrors(logger: Pick<Logger, 'error'> = warningLogger): LostErrors {
  let hasTold = false;
  return (msg, cause) => {
    if (hasTold) return;
    hasTold = true;
    logger.error(msg, { cause });
  };
}
