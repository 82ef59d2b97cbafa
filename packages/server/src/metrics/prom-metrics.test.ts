import { AssertionError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { PromMetrics } from './prom-metrics.js';

const definitions = {
  syncline_toy_events_total: { kind: 'counter', help: 'Events.', labels: ['result'] },
  syncline_toy_size: { kind: 'gauge', help: 'Size.' },
  syncline_toy_seconds: { kind: 'histogram', help: 'Time.', buckets: [1, 2] },
} as const;

test('declared metrics are exposed as Prometheus text', async () => {
  const metrics = new PromMetrics([definitions]);
  metrics.add('syncline_toy_events_total', 2, { result: 'ok' });
  metrics.set('syncline_toy_size', 7);
  metrics.observe('syncline_toy_seconds', 1.5);
  const text = await metrics.expose();
  expect(text).toContain('syncline_toy_events_total{result="ok"} 2');
  expect(text).toContain('syncline_toy_size 7');
  expect(text).toContain('syncline_toy_seconds_bucket{le="2"} 1');
});

test('a gauge that was never set is not exported, not even as 0', async () => {
  const metrics = new PromMetrics([definitions]);
  expect(await metrics.expose()).not.toMatch(/^syncline_toy_size/m);
  metrics.set('syncline_toy_size', 0);
  expect(await metrics.expose()).toMatch(/^syncline_toy_size 0$/m);
});

test('a gauge with labels is exported with them', async () => {
  const labelled = { kind: 'gauge', help: 'With a label.', labels: ['of'] } as const;
  const metrics = new PromMetrics([{ syncline_toy_labelled: labelled }]);
  metrics.set('syncline_toy_labelled', 3, { of: 'one' });
  expect(await metrics.expose()).toContain('syncline_toy_labelled{of="one"} 3');
});

test('an undeclared name, a wrong kind and a second declaration are bugs', () => {
  const metrics = new PromMetrics([definitions]);
  expect(() => metrics.add('syncline_toy_evnets_total')).toThrow(AssertionError);
  expect(() => metrics.set('syncline_toy_events_total', 1)).toThrow(AssertionError);
  expect(() => new PromMetrics([definitions, definitions])).toThrow(/declared twice/);
});

test('process metrics, including event loop lag, are added on request', async () => {
  const metrics = new PromMetrics([]);
  expect(await metrics.expose()).not.toContain('nodejs_');
  metrics.watchProcess();
  expect(await metrics.expose()).toContain('nodejs_eventloop_lag_p99_seconds');
});
