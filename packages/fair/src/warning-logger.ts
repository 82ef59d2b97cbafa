// The default logger, and the errors that have no other way to the operator.
import { createWarningLogger, type Logger } from '@syncline/kernel';

export const warningLogger: Logger = createWarningLogger('@syncline/fair');

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
