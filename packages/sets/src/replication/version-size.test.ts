import { actorId, dot, silentLogger, VersionVector } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { setsLimits } from '../limits.js';
import { warnOfManyEpochs } from './version-size.js';

test('a version vector with more entries than the limit is worth one warning', () => {
  const warnings: unknown[] = [];
  const logger = {
    ...silentLogger,
    warn: (_: string, fields: unknown) => void warnings.push(fields),
  };
  const version = new VersionVector();
  const entries = setsLimits.versionEntriesWarning.value;
  for (let epoch = 0; epoch < entries; epoch += 1)
    version.merge(VersionVector.of(dot(actorId(1, epoch), 1)));
  warnOfManyEpochs(version, logger);
  expect(warnings).toEqual([]);
  version.merge(VersionVector.of(dot(actorId(2, 0), 1)));
  warnOfManyEpochs(version, logger);
  expect(warnings).toEqual([{ entries: entries + 1, entriesMax: 4_096 }]);
});
