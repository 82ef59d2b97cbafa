import { expect, test } from 'vitest';
import { plainPaint } from '../paint.js';
import { renderWelcome, urlOf } from './welcome.js';

const http = { listener: 'http', host: '127.0.0.1', port: 7400 } as const;
const grpc = { listener: 'grpc', host: '127.0.0.1', port: 7401 } as const;
const resp = { listener: 'resp', host: '127.0.0.1', port: 7402 } as const;
const facts = {
  version: '0.1.0',
  nodeId: 1,
  dataDir: './syncline-data',
  isTls: false,
  hasPassword: false,
};
const hint = { command: 'npx syncline status', remarks: [] };

test('the welcome lists the addresses, and commands to paste', async () => {
  const usual = renderWelcome({ ...facts, listeners: [http, grpc, resp], hint }, plainPaint);
  const other = { ...facts, dataDir: undefined, isTls: true, hasPassword: true };
  const everywhere = { ...resp, host: '0.0.0.0' };
  const far = { command: 'npx syncline status --config a.toml', remarks: ['with --ca-file FILE'] };
  const unusual = renderWelcome(
    { ...other, listeners: [{ ...http, port: 40123 }, everywhere], hint: far },
    plainPaint,
  );
  await expect(`${usual}-----\n${unusual}`).toMatchFileSnapshot('../../testdata/welcome.txt');
});

test('an IPv6 address is shown in brackets', () => {
  expect(urlOf({ ...http, host: '::1' }, false)).toBe('http://[::1]:7400');
});
