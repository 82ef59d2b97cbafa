import { expect, test } from 'vitest';
import { drawPicture } from './picture.js';
import { drawPage } from './picture-page.js';
import { spreadLabels } from './spread-labels.js';

const chapter = {
  title: 'Mice <and> men',
  subtitle: '10 per second',
  durationSeconds: 120,
  capacityPerSecond: 10,
  panels: [
    {
      title: 'No throttling',
      figures: 'J 0.500',
      series: [
        { name: 'mice & co', share: [8, 8], served: [2, 2] },
        { name: 'men', share: [2, 0], served: [8, 0] },
      ],
    },
  ],
};

test('a chart is self-contained and labeled', () => {
  const svg = drawPicture([chapter, chapter]);
  expect(svg).toMatch(/^<svg xmlns="[^"]+" viewBox="0 0 960 \d+"/);
  expect(svg).toContain('Mice &lt;and&gt; men');
  expect(svg).toContain('mice &amp; co');
  expect(svg).toContain('prefers-color-scheme:dark');
  expect(svg).not.toMatch(/NaN|Infinity|undefined|href|url\(|<script/);
  expect(svg.match(/class="line c\d"/g)).toHaveLength(4);
});

test('the averages of a class cover only the time in which it sends requests', () => {
  const svg = drawPicture([chapter]);
  expect(svg).toContain('2 per s, fair 8');
  expect(svg).toContain('8 per s, fair 2');
});

test('the page contains the chart and the figures', () => {
  const table = { title: 'Mice', head: ['', 'J'], rows: [['a < b', '0.5']] };
  const page = drawPage([chapter], [table]);
  expect(page).toMatch(/^<!doctype html>/);
  expect(page).toContain('<svg ');
  expect(page).toContain('<tr><td>a &lt; b</td><td>0.5</td></tr>');
});

test('labels keep their order and do not overlap', () => {
  const range = { from: 0, to: 100, height: 20 };
  expect(spreadLabels([50], range)).toEqual([50]);
  expect(spreadLabels([10, 90], range)).toEqual([10, 90]);
  expect(spreadLabels([50, 52], range)).toEqual([32, 52]);
  expect(spreadLabels([99, 98], range)).toEqual([99, 79]);
  expect(spreadLabels([3, 1], range)).toEqual([20, 0]);
});
