// Where an error goes that no answer can carry any more. It must not end the process, and it must not vanish.
// The first one tells; more of the same would only fill the log.
import type { Logger } from '@syncline/kernel';

export type LostErrors = (msg: string, cause: unknown) => void;

export function createLostErrors(logger: Pick<Logger, 'error'> | undefined): LostErrors {
  let hasTold = false;
  return (msg, cause) => {
    if (hasTold) return;
    hasTold = true;
    if (logger === undefined) process.emitWarning(`@syncline/fair: ${msg}: ${String(cause)}`);
    else logger.error(msg, { cause });
  };
}
