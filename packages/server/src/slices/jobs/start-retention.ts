// Retention as the settings say it: which jobs go, and when.
import { collectJobs, type JobStore } from '@syncline/jobs';
import { type Clock, type Logger, silentLogger } from '@syncline/kernel';
import { parseDuration } from '../../config/duration.js';
import type { ServerConfig } from '../../config/server-config.js';
import { RetentionSweeper } from './retention-sweeper.js';

export interface RetentionDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: JobStore;
}

export function startRetention(
  deps: RetentionDeps,
  settings: ServerConfig['jobs']['retention'],
): RetentionSweeper {
  const policy = {
    finishedMs: parseDuration(settings.finished),
    markedMs: parseDuration(settings.marked),
    idleMs: parseDuration(settings.idle),
  };
  const { clock, logger, store } = deps;
  const tellDeleted: Logger = {
    ...silentLogger, // failures are told here, once per job
    info: (message, fields) => logger.info(message, fields),
  };
  let told: ReadonlySet<string> = new Set();
  return new RetentionSweeper({
    ...deps,
    async sweep(signal) {
      const { deleted, failed } = await collectJobs(
        store,
        { ...policy, signal },
        { clock, logger: tellDeleted },
      );
      for (const { jobId, error } of failed) {
        if (told.has(jobId)) continue; // one line per job, not one a minute
        logger.warn('🟡 a job past its retention was not deleted', { jobId, error: error.code });
      }
      told = new Set(failed.map(({ jobId }) => jobId));
      return deleted.length;
    },
  });
}
