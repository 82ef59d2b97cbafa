import { SynclineError } from '@syncline/kernel';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type FlagValue, resolveSettings, type SettingSources } from './resolve-settings.js';
import { findSetting } from './resolved-setting.js';

interface Given {
  readonly flags?: Readonly<Record<string, FlagValue>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly file?: string;
}

function sourcesOf({ flags = {}, environment = {}, file }: Given): SettingSources {
  return {
    flags: new Map(Object.entries(flags)),
    environment,
    file: file === undefined ? undefined : { name: 'syncline.toml', text: file },
  };
}

function resolve(given: Given) {
  return resolveSettings(sourcesOf(given));
}

test('without any source, the defaults apply and the server listens on loopback', () => {
  const { settings } = resolve({});
  expect(settings).toMatchObject({
    nodeId: 1,
    dataDir: './syncline-data',
    memory: false,
    listenHost: '127.0.0.1',
    http: { port: 7400 },
    mesh: { port: 7403, clusterId: 'syncline', peers: [] },
    tls: {},
    shutdown: { graceMs: 10_000 },
  });
});

test('flags override the environment, which overrides the file, which overrides the defaults, and each value has its origin', () => {
  const sources = {
    flag: { flags: { 'http.port': '4' } },
    environment: { environment: { SYNCLINE_HTTP_PORT: '3' } },
    file: { file: '[http]\nport = 2' },
  };
  const value = { flag: 4, environment: 3, file: 2, default: 7400 };
  const order = ['flag', 'environment', 'file'] as const;
  fc.assert(
    fc.property(fc.subarray([...order]), (given) => {
      const { settings, list } = resolve(Object.assign({}, ...given.map((name) => sources[name])));
      const strongest = order.find((name) => given.includes(name)) ?? 'default';
      expect(settings.http.port).toBe(value[strongest]);
      expect(findSetting(list, 'http.port').origin.kind).toBe(strongest);
    }),
  );
});

test('an empty variable counts as not set', () => {
  expect(resolve({ environment: { SYNCLINE_HTTP_PORT: '' } }).settings.http.port).toBe(7400);
});

test('peers come from a list, a comma-separated variable or a repeated flag', () => {
  const peers = [
    { nodeId: 2, host: 'b', port: 7403 },
    { nodeId: 3, host: 'c', port: 7403 },
  ];
  const file = '[mesh]\npeers = ["2@b:7403", "3@c:7403"]';
  const environment = { SYNCLINE_MESH_PEERS: '2@b:7403, 3@c:7403' };
  const flags = { 'mesh.peers': ['2@b:7403', '3@c:7403'] };
  for (const given of [{ file }, { environment }, { flags }]) {
    expect(resolve(given).settings.mesh.peers).toEqual(peers);
  }
});

test("this node's own entry in the list of peers is skipped", () => {
  const flags = { node_id: '2', 'mesh.peers': ['1@a:7403', '2@b:7403'] };
  expect(resolve({ flags }).settings.mesh.peers.map(({ nodeId }) => nodeId)).toEqual([1]);
});

test('if both memory and a directory are set, the source with precedence wins', () => {
  const file = 'data_dir = "/var/lib/syncline"';
  expect(resolve({ file, flags: { memory: true } }).settings.memory).toBe(true);
  const over = resolve({ file: 'memory = true', flags: { data_dir: '/data' } }).settings;
  expect(over).toMatchObject({ memory: false, dataDir: '/data' });
});

/** The input, and the error that the user sees. */
const WRONG: readonly Given[] = [
  { flags: { 'http.port': '99999' } },
  { flags: { 'http.port': 'http' } },
  { flags: { 'mesh.peers': ['2@b:7403', 'b:7403'] } },
  { flags: { memory: true, data_dir: '/data' } },
  { environment: { SYNCLINE_LOG_LEVEL: 'loud' } },
  { environment: { SYNCLINE_MEMORY: 'yes' } },
  { environment: { SYNCLINE_HTP_PORT: '1' } },
  { environment: { SYNCLINE_SOMETHING_ELSE: '1' } },
  { file: 'node_id = 0' },
  { file: 'node_id = 1.5' },
  { file: 'data_dir = ""' },
  { file: '[http]\nport = "7400"' },
  { file: '[http]\nprot = 1' },
  { file: '[htp]\nport = 1' },
  { file: '[streams]\n' },
  { file: '[auth]\ntoken = "abc"' },
  { file: '[tls]\ncert = "x"' },
  { file: 'port = 1' },
  { environment: { SYNCLINE_PORT: '1' } },
  { file: 'http = 7400' },
  { file: '[mesh]\npeers = "2@b:7403"' },
  { file: '[mesh]\npeers = ["2@b:7403", "2@c:7403"]' },
  { file: '[tls]\ncert_file = "a.pem"' },
  { file: '[tls]\nkey_file = "a.pem"' },
  { file: '[tls]\nca_file = "a.pem"' },
  { file: '[fair]\nstore = "redis"' },
  { file: '[fair]\nstore = "disk"' },
  { file: '[fair.redis]\nurl = "http://127.0.0.1"' },
  { file: '[fair.redis]\nurl = "redis://"' },
  { file: '[fair.redis]\nurl = "redis://127.0.0.1:6379/a"' },
  { environment: { SYNCLINE_FAIR_REDIS_URL: 'redis://:secret@127.0.0.1' } },
  { file: '[fair.redis]\npassword = "secret"' },
  { file: '[fair]\ndefault_window_ms = 1' },
  { file: '[jobs]\nstore = "firestore"' },
  { file: '[jobs]\nstore = "redis"' },
  { file: '[jobs.firestore]\nproject_id = "My Project"' },
  { file: '[jobs.retention]\nfinished = 604800000' },
  { environment: { SYNCLINE_JOBS_RETENTION_IDLE: '30' } },
  { file: '[http]\nport = \n' },
  { file: 'node_id = 1\nnode_id = 2' },
];

test('an error is one line with the key, the value, its origin and the allowed values', async () => {
  const lines = WRONG.map((given) => `${describe(given)}\n  ${refusal(given)}\n`);
  await expect(lines.join('\n')).toMatchFileSnapshot('../../testdata/config-errors.txt');
});

test('keys nested too deeply are refused before anything traverses them', () => {
  const deep = Array.from({ length: 20_000 }, () => 'a').join('.');
  for (const file of [`${deep} = 1`, `http.port.${deep} = 1`, `mesh.peers = [{ ${deep} = 1 }]`])
    expect(refusal({ file })).toMatch(/: keys are nested more than 16 deep\./);
});

function refusal(given: Given): string {
  try {
    resolve(given);
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(SynclineError);
    expect(thrown).toMatchObject({ code: 'invalid-argument' });
    const { message } = thrown as SynclineError;
    expect(message).not.toContain('\n');
    return message;
  }
  return 'accepted';
}

function describe({ flags = {}, environment = {}, file }: Given): string {
  const parts = [
    ...Object.entries(flags).map(([key, value]) => `flag ${key} ${JSON.stringify(value)}`),
    ...Object.entries(environment).map(([name, value]) => `environment ${name}=${value}`),
    ...(file === undefined ? [] : [`file ${JSON.stringify(file)}`]),
  ];
  return parts.join(', ');
}

test('the service variables of a pod are ignored, but other unknown names are errors', () => {
  const environment = {
    SYNCLINE_SERVICE_HOST: '10.0.0.1',
    SYNCLINE_SERVICE_PORT: '7400',
    SYNCLINE_SERVICE_PORT_HTTP: '7400',
    SYNCLINE_PORT: 'tcp://10.0.0.1:7400',
    SYNCLINE_PORT_7400_TCP: 'tcp://10.0.0.1:7400',
    SYNCLINE_PORT_7400_TCP_ADDR: '10.0.0.1',
    SYNCLINE_PORT_7400_TCP_PROTO: 'tcp',
    SYNCLINE_HEADLESS_SERVICE_HOST: '10.0.0.2',
    SYNCLINE_HTTP_PORT: 'tcp://10.0.0.3:7400',
    SYNCLINE_GRPC_PORT: '7501',
  };
  const { settings } = resolveSettings({ flags: new Map(), environment, file: undefined });
  expect(settings.http.port).toBe(7400);
  expect(settings.grpc.port).toBe(7501);
  const wrong = { ...environment, SYNCLINE_SERVICE: 'x' };
  expect(() => resolveSettings({ flags: new Map(), environment: wrong, file: undefined })).toThrow(
    'SYNCLINE_SERVICE',
  );
});

test('two listeners with the same port are refused, unless one of them is not opened', () => {
  const same = { flags: { 'http.port': '7466', 'grpc.port': '7466' } };
  expect(() => resolve(same)).toThrow(/^http\.port and grpc\.port are both 7466\. Give each/);
  const mesh = { 'resp.port': '7403' };
  expect(resolve({ flags: mesh }).settings.resp.port).toBe(7403);
  expect(() => resolve({ flags: { ...mesh, 'mesh.peers': ['2@b:7403'] } })).toThrow(
    'resp.port and mesh.port are both 7403.',
  );
  const free = { flags: { 'http.port': '0', 'grpc.port': '0' } };
  expect(resolve(free).settings.grpc.port).toBe(0);
  const disabled = { ...same, file: '[grpc]\nenabled = false' };
  expect(resolve(disabled).settings.grpc.enabled).toBe(false);
});

test('invalid TOML is reported with its line', () => {
  expect(() => resolve({ file: 'node_id = 1\n  [http\nport = 1' })).toThrow(
    /^syncline\.toml:2:\d+: invalid TOML in "\[http": \S/,
  );
  expect(() => resolve({ file: `[${'a'.repeat(500)}` })).toThrow(/ in "\[a{79}": /);
});
