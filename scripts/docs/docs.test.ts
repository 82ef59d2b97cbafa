import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readRepository, repositoryRoot } from '../repository/read-repository.js';
import { formatLimit } from './human-units.js';
import { renderTable } from './markdown-table.js';
import { renderPages } from './pages.js';

const pages = await renderPages();

describe('generated pages', () => {
  test.each([...pages])('%s is what the code says (npm run docs)', (path, text) => {
    expect(readFileSync(join(repositoryRoot, path), 'utf8')).toBe(text);
  });

  test.each(['limits.ts', 'metrics-list.ts'])('no %s of a package is forgotten', (file) => {
    const repository = readRepository();
    const page = pages.get(file === 'limits.ts' ? 'docs/LIMITS.md' : 'docs/METRICS.md') ?? '';
    const declaring = readdirSync(join(repositoryRoot, 'packages')).filter(
      (name) => name !== 'testkit' && repository.has(`packages/${name}/src/${file}`),
    );
    expect(declaring.length).toBeGreaterThan(0);
    expect(declaring.filter((name) => !page.includes(`\n## ${name}\n`))).toEqual([]);
  });
});

test('the reference has the exports of every entry point, with their comments', () => {
  const fair = pages.get('docs/api/fair.md') ?? '';
  expect(fair).toContain('## @syncline/fair/express');
  expect(fair).toMatch(
    /### createFairTracker\n\n```typescript\n\/\*\* Throws .*\nfunction createFairTracker\(/,
  );
  expect(fair).not.toContain('#private');
});

describe('human units', () => {
  test.each([
    [1024 * 1024, 'bytes', '1 MiB'],
    [1536, 'bytes', '1.5 KiB'],
    [1000, 'bytes', '1,000 bytes'],
    [5_000, 'ms', '5 s'],
    [90_000, 'ms', '1.5 min'],
    [250, 'ms', '250 ms'],
    [1_234, 'ms', '1,234 ms'],
    [4096, 'entries', '4,096'],
    [0, 'ms', '0 ms'],
  ] as const)('%d %s is %s', (value, unit, text) => {
    expect(formatLimit({ value, unit })).toBe(text);
  });
});

test('a bar in a cell does not end it', () => {
  expect(renderTable(['a'], [['x | y']])).toBe('| a |\n| --- |\n| x \\| y |');
});
