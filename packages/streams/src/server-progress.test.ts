import { expect, test } from 'vitest';
import { type ServerProgressOptions, serverProgress } from './server-progress.js';

const create = (options: object) => () => serverProgress(options as ServerProgressOptions);

test('a misspelled option, a bad address and an exposed token are refused', () => {
  expect(create({ ulr: 'http://127.0.0.1:7400' })).toThrow(
    'unknown option "ulr" of serverProgress. Did you mean "url"?',
  );
  expect(create({ url: '127.0.0.1:7400' })).toThrow('url is "127.0.0.1:7400"; expected');
  expect(create({ url: 'http://192.0.2.2:9931', token: 's3cret' })).toThrow(
    'refusing to send the token to http://192.0.2.2:9931 without TLS.',
  );
});
