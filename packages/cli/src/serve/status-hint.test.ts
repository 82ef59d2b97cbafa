import { loadSettings } from '@syncline/server/config';
import { expect, test } from 'vitest';
import { statusHint } from './status-hint.js';

const http = { listener: 'http', host: '127.0.0.1', port: 7400 } as const;

function hint(flags: Record<string, string>, environment: Record<string, string> = {}) {
  const loaded = loadSettings({ flags: new Map(Object.entries(flags)), environment });
  return statusHint(http, { ...loaded, file: undefined, environment });
}

test('by default the command needs no flags', () => {
  expect(hint({})).toEqual({ command: 'npx syncline status', remarks: [] });
});

test('an address set by a flag or variable is included, in a reachable form', () => {
  const { settings, list } = loadSettings({ environment: {} });
  const sources = { settings, list, file: undefined, environment: {} };
  expect(statusHint({ ...http, port: 40123 }, sources).command).toBe(
    'npx syncline status --url http://127.0.0.1:40123',
  );
  expect(hint({ 'http.port': '7400' }).command).toMatch(/ --url http:\/\/127\.0\.0\.1:7400$/);
  expect(statusHint({ ...http, host: '0.0.0.0', port: 1 }, sources).command).toBe(
    'npx syncline status --url http://127.0.0.1:1',
  );
});

test('the configuration file is included, quoted if necessary', () => {
  const { settings, list } = loadSettings({ environment: {} });
  const named = { settings, list, file: "it's.toml", environment: {} };
  expect(statusHint(http, named).command).toBe(`npx syncline status --config 'it'\\''s.toml'`);
  const byVariable = { ...named, file: undefined, environment: { SYNCLINE_CONFIG: 'a.toml' } };
  expect(statusHint(http, byVariable).command).toBe('npx syncline status --config a.toml');
});

test('variables and a CA that the other terminal needs are mentioned', () => {
  const environment = { SYNCLINE_TLS_CERT_FILE: 'c.pem', SYNCLINE_TLS_KEY_FILE: 'k.pem' };
  expect(hint({}, environment)).toEqual({
    command: 'npx syncline status --url https://127.0.0.1:7400',
    remarks: [
      'with the same SYNCLINE_* variables as here',
      'with --ca-file FILE, if the certificate is signed by a private CA',
    ],
  });
});
