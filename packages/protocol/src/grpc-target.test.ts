import { expect, test } from 'vitest';
import { checkGrpcOptions, checkGrpcTarget } from './grpc-target.js';

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

test.each([undefined, null, '127.0.0.1:7401'])('missing options: %s', (options) => {
  expect(() => checkGrpcOptions('createClient', options, { address: true })).toThrow(
    expect.objectContaining({
      code: 'invalid-argument',
      details: { field: 'options' },
      message:
        "createClient needs options, at least { address }, such as { address: '127.0.0.1:7401' }",
    }),
  );
});

test('an unknown option is refused with the name of the function', () => {
  expect(() => checkGrpcOptions('createClient', { adress: '' }, { address: true })).toThrow(
    'unknown option "adress" of createClient. Did you mean "address"?',
  );
});
