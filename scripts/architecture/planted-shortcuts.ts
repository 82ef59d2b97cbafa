// One list per architecture rule: files that break it, and files that come close.
import type { Files, Planted } from '../repository/planted.js';

const core = 'packages/fair/src/bucket.ts';

const manifest = (name: string, fields: object): Files => ({
  [`packages/${name}/package.json`]: JSON.stringify({ exports: { '.': {} }, ...fields }),
});
const references = (name: string, to: readonly string[]): Files => ({
  [`packages/${name}/tsconfig.json`]: JSON.stringify({
    references: to.map((target) => ({ path: `../${target}` })),
  }),
});
const imports = (path: string, specifier: string): Files => ({
  [path]: `import { a } from '${specifier}';`,
});

const onKernel = { dependencies: { '@syncline/kernel': '0.1.0' } };

export const plantedShortcuts: Readonly<Record<string, Planted>> = {
  'declared-imports': {
    bad: [
      {
        ...imports(core, '@syncline/kernel'),
        ...manifest('fair', {}),
        ...references('fair', ['kernel']),
      },
      {
        ...imports(core, '@syncline/kernel'),
        ...manifest('fair', onKernel),
        ...references('fair', []),
      },
      { ...manifest('fair', onKernel), ...references('fair', []) },
      { ...manifest('fair', {}), ...references('fair', ['kernel']) },
      { ...imports(core, 'vitest'), ...manifest('fair', {}) },
      { ...imports(core, 'ioredis/built/cluster'), ...manifest('fair', {}) },
    ],
    good: [
      {
        ...imports(core, '@syncline/kernel/testing'),
        ...manifest('fair', onKernel),
        ...references('fair', ['kernel']),
      },
      { ...imports('packages/fair/src/bucket.test.ts', 'vitest'), ...manifest('fair', {}) },
      { ...imports(core, 'ioredis'), ...manifest('fair', { peerDependencies: { ioredis: '6' } }) },
      { ...imports(core, 'node:assert'), ...manifest('fair', {}) },
    ],
  },
  'doors-are-lists': {
    bad: [
      { 'packages/fair/src/index.ts': 'export const a = 1;' },
      { 'packages/fair/src/testing.ts': "import './register.js';" },
    ],
    good: [
      {
        'packages/fair/src/index.ts':
          "export { a } from './a.js';\nexport type { B } from './b.js';",
      },
      { [core]: 'export const a = 1;' },
    ],
  },
  'doors-match': {
    bad: [
      manifest('fair', { exports: { '.': {}, './internal': {} } }),
      manifest('fair', { exports: { './redis': {} } }),
    ],
    good: [manifest('fair', { exports: { '.': {}, './redis': {}, './testing': {} } })],
  },
  'exact-versions': {
    bad: [
      manifest('fair', { dependencies: { ioredis: '^6.0.0' } }),
      { 'package.json': JSON.stringify({ devDependencies: { vitest: 'latest' } }) },
    ],
    good: [
      manifest('fair', { dependencies: { ioredis: '6.0.0-rc.1' } }),
      { 'package.json': JSON.stringify({ devDependencies: { express4: 'npm:express@4.21.2' } }) },
    ],
  },
  'import-cycles': {
    bad: [
      {
        ...imports(core, './tracker.js'),
        ...imports('packages/fair/src/tracker.ts', './bucket.js'),
      },
      {
        ...imports('packages/fair/src/a.ts', './b.js'),
        'packages/fair/src/b.ts': "import type { C } from './c/c.js';",
        'packages/fair/src/c/c.ts': "export { a } from '../a.js';",
      },
      { [core]: "import('./bucket.js');" },
    ],
    good: [
      {
        ...imports('packages/fair/src/a.ts', './c.js'),
        ...imports('packages/fair/src/b.ts', './c.js'),
        'packages/fair/src/c.ts': '',
      },
    ],
  },
  'import-direction': {
    bad: [
      imports(core, '@syncline/jobs'),
      imports(core, '@syncline/server'),
      imports(core, '@syncline/riblt'),
      imports(core, '@syncline/testkit'),
      imports(core, '@syncline/fair'),
      imports(core, '@syncline/kernle'),
      imports('packages/kernel/src/clock.ts', '@syncline/protocol'),
      imports('packages/kernel/src/clock.test.ts', '@syncline/server'),
      imports('packages/server/src/serve.ts', '@syncline/cli'),
      imports('packages/cli/src/dev.ts', '@syncline/testkit'),
      imports('examples/first.ts', '@syncline/testkit'),
      { 'packages/mystery/src/a.ts': '' },
      { [core]: "export type { A } from '@syncline/jobs';" },
      { [core]: "await import('@syncline/jobs');" },
      { [core]: "type A = import('@syncline/jobs').A;" },
    ],
    good: [
      imports(core, '@syncline/kernel/testing'),
      imports('packages/sets/src/repair.ts', '@syncline/riblt'),
      imports('packages/server/src/serve.ts', '@syncline/jobs'),
      imports('packages/fair/src/bucket.test.ts', '@syncline/testkit'),
      imports('packages/testkit/src/cluster.ts', '@syncline/server'),
      imports('bench/storage.ts', '@syncline/testkit'),
      imports('examples/first.ts', '@syncline/fair'),
    ],
  },
  'no-deep-import': {
    bad: [
      imports(core, '@syncline/kernel/src/clock.js'),
      imports(core, '@syncline/kernel/dist/clock.js'),
      imports(core, '@syncline/protocol/redis'),
      imports(core, '../../kernel/src/index.js'),
      imports('bench/storage.ts', '../packages/kernel/src/index.js'),
    ],
    good: [
      imports(core, '@syncline/kernel/testing'),
      imports('examples/first.ts', '@syncline/fair/redis'),
      imports('packages/fair/src/redis/store.ts', '../bucket.js'),
    ],
  },
  'one-version': {
    bad: [{ 'package.json': '{"version":"0.2.0"}', ...manifest('fair', { version: '0.1.0' }) }],
    good: [{ 'package.json': '{"version":"0.2.0"}', ...manifest('fair', { version: '0.2.0' }) }],
  },
};
