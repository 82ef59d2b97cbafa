// Every unclean stop adds an epoch to the version vector, for good. Nodes refuse vectors above a limit, so operators
// should be warned long before.
import { kernelLimits, type Logger, type VersionVector } from '@syncline/kernel';
import { setsLimits } from '../limits.js';

export function warnOfManyEpochs(version: VersionVector, logger: Logger): void {
  const entries = version.entries().length;
  if (entries <= setsLimits.versionEntriesWarning.value) return;
  const entriesMax = kernelLimits.versionVectorEntriesMax.value;
  logger.warn('the version vector is large: each unclean stop of a node adds an entry', {
    entries,
    entriesMax,
  });
}
