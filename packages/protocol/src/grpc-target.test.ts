import { expect, test } from 'vitest';
import { checkGrpcTarget } from './grpc-target.js';

const check = (token: string) => () =>
  checkGrpcTarget('the client', { address: '127.0.0.1:7401', token });

test('a token as it comes from a file has a newline, and the refusal says so without showing it', () => {
  const message =
    'invalid option token = *** for the client; expected printable ASCII without spaces. It ends with a newline: trim it';
  expect(check('secret\n')).toThrow(message);
  expect(check('secret\r\n')).toThrow(message);
  expect(check('sec ret')).toThrow(/without spaces$/);
  expect(check('secret')()).toMatchObject({ token: 'secret' });
});
