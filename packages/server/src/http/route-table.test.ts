import { expect, test } from 'vitest';
import { methodsOf, type ServerRoute, sliceRoutes, suggestPaths } from './route-table.js';

const handle = () => ({ kind: 'empty' }) as const;
const routes: readonly ServerRoute[] = [
  { method: 'GET', path: '/readyz', access: 'open', handle },
  ...sliceRoutes('jobs', [
    { method: 'GET', path: '', handle },
    { method: 'GET', path: '/:job', handle },
    { method: 'DELETE', path: '/:job', handle },
  ]),
];

test('routes of a slice are below /api and count as work', () => {
  expect(routes[1]).toMatchObject({ path: '/api/jobs', access: 'work' });
  expect(routes[2]).toMatchObject({ path: '/api/jobs/:job' });
});

test('methods of a path, HEAD included', () => {
  expect(methodsOf('/api/jobs/nightly', routes)).toEqual(['DELETE', 'GET', 'HEAD']);
  expect(methodsOf('/api/jobs/', routes)).toEqual([]);
  expect(methodsOf('/api/jobs/a/b', routes)).toEqual([]);
  expect(methodsOf('/readyz', routes)).toEqual(['GET', 'HEAD']);
});

test('a misspelled path suggests one path, anything else all', () => {
  expect(suggestPaths('/readz', routes)).toEqual(['/readyz']);
  expect(suggestPaths('/api/job', routes)).toEqual(['/api/jobs']);
  expect(suggestPaths('/something/entirely/different', routes)).toEqual(['/readyz', '/api/jobs']);
});
