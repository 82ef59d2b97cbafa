import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { missingPackages } from './install.mjs';
import { nodeVersionProblem } from './node-version.mjs';
import { root } from './root.mjs';
import { missingServices } from './services.mjs';

describe('the version of Node', () => {
  test.each(['20.19.0', '20.20.2', '21.0.0', '22.1.0'])('%s is fine', (version) => {
    expect(nodeVersionProblem(version, '>=20.19.0')).toBeUndefined();
  });

  test.each(['20.18.9', '18.20.0', '8.0.0'])('%s is too old, in one line', (version) => {
    const problem = nodeVersionProblem(version, '>=20.19.0');
    expect(problem).toContain(`needs Node 20.19.0 or newer; this is Node ${version}`);
    expect(problem).not.toContain('\n');
  });
});

describe('missing packages', () => {
  const wanted = {
    packages: {
      '': {},
      'packages/kernel': { version: '0.1.0' },
      'node_modules/@syncline/kernel': { link: true },
      'node_modules/zod': { version: '4.0.0' },
      'node_modules/esbuild-darwin': { version: '1.0.0', optional: true },
    },
  };
  const complete = {
    packages: {
      'node_modules/@syncline/kernel': { link: true },
      'node_modules/zod': { version: '4.0.0' },
    },
  };

  test('nothing is missing after an install for this platform', () => {
    expect(missingPackages(wanted, complete)).toEqual([]);
  });

  test('everything is missing in a fresh clone', () => {
    expect(missingPackages(wanted, { packages: {} })).toEqual([
      'node_modules/@syncline/kernel',
      'node_modules/zod',
    ]);
  });

  test('another version is missing', () => {
    const packages = { ...complete.packages, 'node_modules/zod': { version: '3.9.0' } };
    expect(missingPackages(wanted, { packages })).toEqual(['node_modules/zod']);
  });
});

test('a service is there when its probe succeeds', () => {
  const there = {
    probe: [process.execPath, '--version'],
    debianPackage: 'nodejs',
    use: '',
  } as const;
  const gone = { probe: ['no-such-program-here'], debianPackage: 'none', use: '' } as const;
  const failing = {
    probe: [process.execPath, '--no-such-flag'],
    debianPackage: 'none',
    use: '',
  } as const;
  expect(missingServices([there, gone, failing])).toEqual([gone, failing]);
});

test('examples/mine.ts is a project of its own, so that its errors do not stop the other examples', () => {
  const configOf = (name: string) =>
    JSON.parse(readFileSync(join(root, 'examples', name), 'utf8')) as Record<string, unknown>;
  expect(configOf('tsconfig.json')['exclude']).toContain('mine.ts');
  expect(configOf('tsconfig.mine.json')).toMatchObject({
    include: ['mine.ts'],
    compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
  });
});
