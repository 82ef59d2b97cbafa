// The alert rules and the dashboard in deploy/ read metrics that exist, with labels that they have.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES } from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import { repositoryRoot } from '../repository/read-repository.js';
import { dashboardQueries } from './grafana-dashboard.js';
import { metricLists } from './pages.js';
import { type KnownMetrics, promqlProblems } from './promql.js';

const declared: KnownMetrics = Object.assign({}, ...Object.values(metricLists));
const rules = readRules(readFileSync(join(repositoryRoot, 'deploy/prometheus/alerts.yml'), 'utf8'));

interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly rest: string;
}

function readRules(yaml: string): readonly AlertRule[] {
  return yaml
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((text) => {
      const [, alert = '', expr = '', rest = ''] =
        /^(\w+)\n {8}expr: (?:\|\n)?(.*?)\n {8}(?=\w)(.*)$/s.exec(text) ?? [];
      return { alert, expr, rest };
    });
}

test('every alert rule is read', () => {
  expect(rules.length).toBeGreaterThan(10);
  for (const { alert, expr, rest } of rules) {
    expect(alert).toMatch(/^Syncline/);
    expect(expr).not.toBe('');
    expect(rest).toContain('severity');
    expect(rest).toContain('summary');
  }
});

test.each(rules)('$alert reads declared metrics', ({ expr, rest }) => {
  expect(promqlProblems(expr, rest, declared)).toEqual([]);
});

test('alert rules select error codes that exist', () => {
  const codes = rules
    .flatMap(({ expr }) => [...expr.matchAll(/code=~"([^"]*)"/g)])
    .flatMap(([, list = '']) => list.split('|'));
  expect(codes).not.toEqual([]);
  expect(codes.filter((code) => !(code in ERROR_CODES))).toEqual([]);
});

test.each(dashboardQueries())('the panel "$panel" reads declared metrics', ({ expr, legend }) => {
  expect(promqlProblems(expr, legend, declared)).toEqual([]);
});

describe('promqlProblems', () => {
  const known: KnownMetrics = {
    syncline_cups_total: { kind: 'counter', labels: ['tea'], help: 'Cups.' },
    syncline_brew_seconds: { kind: 'histogram', labels: ['tea'], help: 'Brewing.' },
  };
  test.each([
    ['sum by (tea) (rate(syncline_cups_total{tea!="", instance=~"a"}[5m]))', '{{tea}}', []],
    ['syncline_mugs_total', '', ['no metric is called syncline_mugs_total']],
    ['syncline_cups_total{milk="yes"}', '', ['syncline_cups_total has no label milk']],
    ['sum by (milk) (syncline_cups_total)', '', ['no metric here has the label milk']],
    ['syncline_cups_total', '{{ $labels.milk }}', ['no metric here has the label milk']],
    ['sum by (tea, le) (syncline_brew_seconds_bucket)', '', []],
    ['sum by (le) (syncline_brew_seconds_sum)', '', ['no metric here has the label le']],
    ['syncline_brew_seconds', '', ['no metric is called syncline_brew_seconds']],
    ['syncline_cups_total_count', '', ['no metric is called syncline_cups_total_count']],
    ['vector(1)', '', ['reads no metric']],
  ])('%s', (expr, shown, problems) => {
    expect(promqlProblems(expr, shown, known)).toEqual(problems);
  });
});
