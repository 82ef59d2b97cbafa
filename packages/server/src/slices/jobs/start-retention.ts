// Retention as the settings say it: which jobs go, and when.
import { collectJobs, type JobStore } from '@syncline/jobs';
import type { Clock, Logger } from '@syncline/kernel';
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
  return new RetentionSweeper({
    ...deps,
    async sweep(signal) {
      const { deleted } = await collectJobs(deps.store, { ...policy, signal }, deps);
      return deleted.length;
    },
  });
}
