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

test('the routes of a slice are below /api and are refused while the server drains', () => {
  expect(routes[1]).toMatchObject({ path: '/api/jobs', access: 'slice' });
  expect(routes[2]).toMatchObject({ path: '/api/jobs/:job' });
});

test('the methods of a path include HEAD', () => {
  expect(methodsOf('/api/jobs/nightly', routes)).toEqual(['DELETE', 'GET', 'HEAD']);
  expect(methodsOf('/api/jobs/', routes)).toEqual([]);
  expect(methodsOf('/api/jobs/a/b', routes)).toEqual([]);
  expect(methodsOf('/readyz', routes)).toEqual(['GET', 'HEAD']);
});

test('for a misspelled path one path is suggested, for any other unknown path all of them', () => {
  expect(suggestPaths('/readz', routes)).toEqual(['/readyz']);
  expect(suggestPaths('/api/job', routes)).toEqual(['/api/jobs']);
  expect(suggestPaths('/something/entirely/different', routes)).toEqual(['/readyz', '/api/jobs']);
});
