import { describe, expect, test } from 'vitest';
import { countTests, formatCounts, missingFromReport } from './test-report.mjs';

const file = (name: string, status: string, ...tests: string[]) => ({
  name: `/repo/${name}`,
  status,
  assertionResults: tests.map((result) => ({ status: result })),
});

describe('counts', () => {
  test('cover every kind of result', () => {
    const testResults = [
      file('a.test.ts', 'failed', 'passed', 'failed', 'skipped'),
      file('b.test.ts', 'passed', 'passed', 'pending', 'todo'),
    ];
    const counts = countTests({ testResults });
    expect(formatCounts(counts)).toBe('2 passed, 1 failed, 3 skipped');
  });

  test('count a file that does not load as a failure', () => {
    expect(countTests({ testResults: [file('a.test.ts', 'failed')] }).failed).toBe(1);
  });
});

describe('what a run left out', () => {
  const ran = ['a.test.ts', 'b.sim.test.ts', 'c.int.test.ts'];
  const testResults = ran.map((name) => file(name, 'passed', 'passed'));

  test('is nothing when every file and every project ran', () => {
    expect(missingFromReport({ testResults }, ran, '/repo')).toEqual([]);
  });

  test('is a file that no project includes', () => {
    expect(missingFromReport({ testResults }, [...ran, 'tools/d.test.ts'], '/repo')).toEqual([
      expect.stringContaining('tools/d.test.ts was not run'),
    ]);
  });

  test('is a project without files', () => {
    const onlyUnit = { testResults: testResults.slice(0, 1) };
    expect(missingFromReport(onlyUnit, ['a.test.ts'], '/repo')).toEqual([
      'project "sim" found no test file',
      'project "int" found no test file',
    ]);
  });
});
