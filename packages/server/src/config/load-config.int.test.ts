// The configuration with real files: secrets and TLS files that are valid, invalid or missing.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serverLimits } from '../limits.js';
import { loadConfig } from './load-config.js';

const directory = mkdtempSync(join(tmpdir(), 'syncline-config-'));
const at = (name: string) => join(directory, name);

function write(name: string, text: string, mode = 0o600): string {
  writeFileSync(at(name), text);
  chmodSync(at(name), mode);
  return at(name);
}

function certificate(name: string, ...more: readonly string[]): void {
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const files = ['-keyout', at(`${name}.key`), '-out', at(`${name}.pem`)];
  execFileSync('openssl', [...args, ...files, '-subj', `/CN=${name}`, ...more], { stdio: 'pipe' });
}

beforeAll(() => {
  certificate('node', '-days', '2');
  certificate('other', '-days', '2');
});

afterAll(() => rmSync(directory, { recursive: true }));

function tlsOf(cert: string, key: string, ca?: string) {
  const environment = {
    SYNCLINE_TLS_CERT_FILE: at(cert),
    SYNCLINE_TLS_KEY_FILE: at(key),
    ...(ca === undefined ? {} : { SYNCLINE_TLS_CA_FILE: at(ca) }),
  };
  return loadConfig({ environment });
}

test('a token is read from its file without the trailing newline, and is never shown', () => {
  const file = write('token', 's3cret-token\n');
  const { config, warnings } = loadConfig({ environment: { SYNCLINE_TOKEN_FILE: file } });
  expect(config.credentials.token?.reveal()).toBe('s3cret-token');
  expect(warnings).toEqual([]);
  expect(`${inspect(config, { depth: 9 })}${JSON.stringify(config)}`).not.toContain('s3cret');
});

test('a variable that holds the secret overrides the file named in the TOML file', () => {
  const token = write('weaker', 'from-file');
  const file = write('a.toml', `[auth]\ntoken_file = "${token}"`);
  const { config } = loadConfig({ file, environment: { SYNCLINE_TOKEN: 'from-variable' } });
  expect(config.credentials.token?.reveal()).toBe('from-variable');
});

test('the store postgres is refused without the URL of its database', () => {
  const environment = { SYNCLINE_JOBS_STORE: 'postgres' };
  expect(() => loadConfig({ environment })).toThrow('jobs.postgres.url_file is not set');
  const url = { SYNCLINE_JOBS_POSTGRES_URL: 'postgresql://localhost/jobs' };
  const { config } = loadConfig({ environment: { ...environment, ...url } });
  expect(config.credentials.jobsPostgresUrl).toBeDefined();
});

test('setting both variables of one secret is refused, without showing it', () => {
  const environment = { SYNCLINE_TOKEN: 's3cret', SYNCLINE_TOKEN_FILE: write('both', 'x') };
  expect(() => loadConfig({ environment })).toThrow(
    'SYNCLINE_TOKEN and SYNCLINE_TOKEN_FILE are both set. Unset one.',
  );
});

test('a secret file that every user can read causes a warning', () => {
  const file = write('open-token', 'abc', 0o644);
  const { warnings } = loadConfig({ environment: { SYNCLINE_TOKEN_FILE: file } });
  expect(warnings).toEqual([
    `${file} contains the bearer token and every user can read it. Run: chmod 600 ${file}`,
  ]);
});

test('unusable secrets are refused, without showing them', () => {
  const refusal = (file: string) => () =>
    loadConfig({ environment: { SYNCLINE_MESH_SECRET_FILE: file } });
  expect(refusal(write('empty', '\n'))).toThrow(
    `${at('empty')} is empty. It must contain the mesh secret.`,
  );
  expect(refusal(write('blank', 'two words'))).toThrow(
    /^the mesh secret in .*blank contains spaces/,
  );
  expect(refusal(write('blank', 'two words'))).not.toThrow(/two words/);
  expect(refusal(at('missing'))).toThrow(
    `mesh.secret_file (from SYNCLINE_MESH_SECRET_FILE): cannot read ${at('missing')} (no such file).`,
  );
  expect(refusal(directory)).toThrow(/cannot read .* \(it is a directory\)/);
});

test('a secret may be exactly as long as the limit', () => {
  const bytesMax = serverLimits.secretFileBytesMax.value;
  const load = (text: string) =>
    loadConfig({ environment: { SYNCLINE_TOKEN_FILE: write('long', text) } }).config.credentials
      .token;
  expect(load('x'.repeat(bytesMax))?.reveal()).toHaveLength(bytesMax);
  expect(() => load('x'.repeat(bytesMax + 1))).toThrow('larger than 4096 bytes');
});

test('a certificate, its key and a CA for client certificates are loaded', () => {
  expect(tlsOf('node.pem', 'node.key').config.credentials.tls).toMatchObject({
    cert: expect.stringContaining('BEGIN CERTIFICATE'),
    key: expect.stringContaining('PRIVATE KEY'),
    ca: undefined,
  });
  expect(tlsOf('node.pem', 'node.key', 'other.pem').config.credentials.tls?.ca).toContain('BEGIN');
});

test('unusable TLS files are refused with the setting, the file and the reason', () => {
  write('text.pem', 'hello');
  mkdirSync(at('folder'));
  const refused: readonly (readonly [Parameters<typeof tlsOf>, string, string])[] = [
    [['text.pem', 'node.key'], 'tls.cert_file: cannot use text.pem', 'no "BEGIN CERTIFICATE"'],
    [['node.pem', 'text.pem'], 'tls.key_file: cannot use text.pem', 'no "BEGIN PRIVATE KEY"'],
    [['node.pem', 'other.key'], 'tls.key_file: cannot use other.key', 'does not belong to'],
    [['node.pem', 'node.key', 'node.key'], 'tls.ca_file: cannot use node.key', 'holds a key'],
    [['folder', 'node.key'], 'tls.cert_file (from SYNCLINE_TLS_CERT_FILE)', 'it is a directory'],
  ];
  for (const [files, where, why] of refused) {
    const message = refusalOf(() => tlsOf(...files)).replaceAll(`${directory}/`, '');
    expect(message).toContain(where);
    expect(message).toContain(why);
  }
});

function refusalOf(load: () => unknown): string {
  try {
    load();
    return 'accepted';
  } catch (thrown) {
    return String(thrown);
  }
}

test('a private key that every user can read causes a warning', () => {
  chmodSync(at('other.key'), 0o644);
  const key = at('other.key');
  expect(tlsOf('other.pem', 'other.key').warnings).toEqual([
    `${key} is a private key and every user can read it. Run: chmod 600 ${key}`,
  ]);
});

test('the configuration file is given by the flag or by its variable', () => {
  const file = write('b.toml', 'node_id = 7');
  expect(loadConfig({ file, environment: {} }).config.nodeId).toBe(7);
  expect(loadConfig({ environment: { SYNCLINE_CONFIG: file } }).config.nodeId).toBe(7);
  expect(() => loadConfig({ file: at('none.toml'), environment: {} })).toThrow(
    `--config: cannot read ${at('none.toml')} (no such file).`,
  );
});

test('an endless file is read no further than the limit; an empty device is an empty file', () => {
  expect(() => loadConfig({ file: '/dev/zero', environment: {} })).toThrow(
    '--config: /dev/zero is larger than 1048576 bytes.',
  );
  expect(loadConfig({ file: '/dev/null', environment: {} }).config.nodeId).toBe(1);
});
