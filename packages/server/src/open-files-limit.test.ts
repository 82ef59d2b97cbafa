import type { Logger } from '@syncline/kernel';
import { silentLogger } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { checkOpenFilesLimit } from './open-files-limit.js';
import { testConfig } from './testing/test-server.js';

const limits = (soft: number | string) =>
  `Limit                     Soft Limit           Hard Limit           Units\n` +
  `Max cpu time              unlimited            unlimited            seconds\n` +
  `Max open files            ${soft}                 1048576              files\n`;

function warningsAt(text: string): readonly string[] {
  const warnings: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (_, fields) => void warnings.push(String(fields?.['warning'])),
  };
  const config = testConfig({ settings: { resp: { connectionsMax: 1_000 } } });
  checkOpenFilesLimit({ logger }, config, ['resp'], text);
  return warnings;
}

test('a limit of open files that is too low for the connections causes a warning', () => {
  expect(warningsAt(limits(1_255))).toEqual([
    'this process may open 1255 files, but its connections may need 1256. ' +
      'Raise the limit (ulimit -n), or lower resp.connections_max.',
  ]);
  expect(warningsAt(limits(1_256))).toEqual([]);
});

test('a limit that is too low for the server itself is an error that says what to do', () => {
  expect(() => warningsAt(limits(160))).toThrow(/may open only 160 files, but a server needs 256/);
});

test('an unlimited or unknown number is accepted', () => {
  expect(warningsAt(limits('unlimited'))).toEqual([]);
  expect(warningsAt('')).toEqual([]);
});
