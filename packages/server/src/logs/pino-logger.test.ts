import { SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { createPinoLogger } from './pino-logger.js';

function capture(isTTY: boolean) {
  const lines: string[] = [];
  const stream = { write: (text: string) => lines.push(text), isTTY };
  return { lines, logger: createPinoLogger({ stream }, { level: 'info' }) };
}

test('without a terminal, each event is one line of JSON with a constant msg and its fields', () => {
  const { lines, logger } = capture(false);
  logger.child({ node: 1 }).warn('limit reached', { limit: 'httpBodyBytesMax', times: 3 });
  expect(lines).toHaveLength(1);
  const { time, ...line } = JSON.parse(lines[0] ?? '');
  expect(line).toEqual({
    level: 'warn',
    node: 1,
    msg: 'limit reached',
    limit: 'httpBodyBytesMax',
    times: 3,
  });
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
});

test('on a terminal, each event is a compact line with unusual values quoted', () => {
  const { lines, logger } = capture(true);
  logger.info('listening', { host: '127.0.0.1', note: 'two words\u001b[2J' });
  expect(lines[0]?.replace(/^[\d:.]{12}/, 'TIME')).toBe(
    'TIME info  listening host=127.0.0.1 note="two words\\u001b[2J"\n',
  );
});

test('lines below the level are not written', () => {
  const { lines, logger } = capture(false);
  logger.debug('noise');
  expect(lines).toEqual([]);
});

test('an expected error is logged as code and message; any other with its stack', () => {
  const { lines, logger } = capture(false);
  logger.error('failed', { error: new SynclineError('locked', 'held by 7') });
  logger.error('failed', { error: new TypeError('boom') });
  const [expected, surprise] = lines.map((line) => JSON.parse(line).error);
  expect(expected).toEqual({ code: 'locked', message: 'held by 7' });
  expect(surprise).toMatchObject({ message: 'boom', stack: expect.stringContaining('at ') });
});
