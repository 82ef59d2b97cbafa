// One configuration, four projects by file name. Tests read the sources of the workspace packages
// (condition `syncline-source`), so that a run never sees a stale build.
import { defineConfig } from 'vitest/config';

const conditions = ['syncline-source', 'node', 'import', 'default'];
const roots = ['packages/*/src', 'scripts', 'e2e', 'bench', 'examples'];
const only = (suffix: string) => roots.map((root) => `${root}/**/*${suffix}`);

export default defineConfig({
  test: {
    projects: [
      {
        resolve: { conditions },
        ssr: { resolve: { conditions } },
        test: {
          name: 'unit',
          include: only('.test.ts'),
          exclude: [...only('.sim.test.ts'), ...only('.int.test.ts')],
        },
      },
      {
        resolve: { conditions },
        ssr: { resolve: { conditions } },
        test: { name: 'sim', include: only('.sim.test.ts'), testTimeout: 120_000 },
      },
      {
        resolve: { conditions },
        ssr: { resolve: { conditions } },
        test: {
          name: 'int',
          include: only('.int.test.ts'),
          testTimeout: 60_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
