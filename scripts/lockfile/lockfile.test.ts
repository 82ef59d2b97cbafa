import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repositoryRoot } from '../repository/read-repository.js';
import { type Lockfile, missingPlatformBuilds, withPlatformBuilds } from './platform-builds.mjs';

test('package-lock.json names the builds for every platform (npm run lockfile)', () => {
  const path = join(repositoryRoot, 'package-lock.json');
  const lockfile = JSON.parse(readFileSync(path, 'utf8')) as Lockfile;
  expect(Object.keys(lockfile.packages).length).toBeGreaterThan(100);
  expect(Object.keys(missingPlatformBuilds(lockfile))).toEqual([]);
});

test('what is missing is added with its platform, what is there is left alone', () => {
  const tool = {
    version: '1.0.0',
    dev: true,
    optionalDependencies: {
      '@tool/binding-linux-x64-musl': '1.0.0',
      '@tool/cli-darwin-arm64': '1.0.0',
      '@tool/binding-linux-arm-gnueabihf': '1.0.0',
      '@tool/binding-wasm32-wasi': '1.0.0',
      nested: '2.0.0',
    },
  };
  const packages = {
    'node_modules/tool': tool,
    'node_modules/tool/node_modules/nested': { version: '2.0.0' },
  };
  const builds = {
    'node_modules/@tool/binding-linux-x64-musl': { os: ['linux'], cpu: ['x64'], libc: ['musl'] },
    'node_modules/@tool/cli-darwin-arm64': { os: ['darwin'], cpu: ['arm64'] },
    'node_modules/@tool/binding-linux-arm-gnueabihf': { os: ['linux'], cpu: ['arm'] },
    'node_modules/@tool/binding-wasm32-wasi': { cpu: ['wasm32'] },
  };
  const added = Object.fromEntries(
    Object.entries(builds).map(([path, platform]) => [
      path,
      { version: '1.0.0', dev: true, optional: true, ...platform },
    ]),
  );
  expect(missingPlatformBuilds({ packages })).toEqual(added);
  const complete = withPlatformBuilds({ packages });
  expect(complete.packages).toEqual({ ...packages, ...added });
  expect(missingPlatformBuilds(complete)).toEqual({});
});
