import { expect, test } from 'vitest';
import { SECRET_LIST } from './secret-list.js';
import { SETTING_LIST } from './setting-list.js';
import { settingsSchema } from './settings-schema.js';

test('key, variable and flag follow from the position in the schema', () => {
  const entry = SETTING_LIST.find(({ key }) => key === 'http.port');
  expect(entry).toMatchObject({
    path: ['http', 'port'],
    env: 'SYNCLINE_HTTP_PORT',
    flag: '--http-port',
    defaultValue: 7400,
  });
  expect(SETTING_LIST.map(({ key }) => key)).toContain('tls.cert_file');
});

test('no two settings or secrets share a key, a variable or a flag', () => {
  const flags = SETTING_LIST.flatMap(({ flag }) => (flag === undefined ? [] : [flag]));
  const variables = [...SETTING_LIST, ...SECRET_LIST].map(({ env }) => env);
  const keys = SETTING_LIST.map(({ key }) => key);
  for (const names of [flags, variables, keys]) expect(new Set(names).size).toBe(names.length);
});

test('every default is valid, and every help text is a sentence', () => {
  const sections = {
    http: {},
    grpc: {},
    resp: {},
    mesh: {},
    tls: {},
    auth: {},
    log: {},
    shutdown: {},
    sets: {},
    fair: { redis: {} },
    jobs: { firestore: {}, postgres: {}, retention: {} },
  };
  expect(settingsSchema.safeParse(sections).success).toBe(true);
  for (const { meta } of SETTING_LIST) expect(meta.help).toMatch(/^(gRPC|[A-Z]).*\.$/);
});

test('no flag takes a secret', () => {
  for (const { flag = '' } of SETTING_LIST) expect(flag).not.toMatch(/token|password|secret|key/);
});
