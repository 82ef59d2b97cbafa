// A chart over time, drawn by uPlot. It is redrawn when the data grows or the theme changes, and its last values are
// repeated in the text below it, for screen readers.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { formatShort } from './format.js';
import type { ChartRows } from './view-data.js';

export interface ChartSeries {
  readonly label: string;
  /** A CSS variable. */
  readonly color: string;
  readonly isFilled?: boolean;
}

export interface TimeChartProps {
  readonly title: string;
  readonly series: readonly ChartSeries[];
  readonly data: ChartRows;
  /** Each value holds until the next one. Default: lines between the values. */
  readonly isStepped?: boolean;
  readonly height?: number;
}

export function TimeChart(props: TimeChartProps) {
  const { title, series, data, isStepped = false, height = 160 } = props;
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(undefined);
  const names = series.map(({ label, color }) => `${label} ${color}`).join();
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const create = () => {
      chart.current?.destroy();
      chart.current = new uPlot(
        optionsOf(element, { series, isStepped, height }),
        aligned(data),
        element,
      );
    };
    create();
    const resized = new ResizeObserver(() => {
      const width = Math.floor(element.clientWidth);
      if (width > 0 && chart.current?.width !== width) chart.current?.setSize({ width, height });
    });
    resized.observe(element);
    addEventListener('syncline:theme', create);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', create);
    return () => {
      resized.disconnect();
      removeEventListener('syncline:theme', create);
      dark.removeEventListener('change', create);
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [names, isStepped, height]);
  useEffect(() => {
    chart.current?.setData(aligned(data));
  }, [data]);
  return (
    <figure class="chart">
      <div ref={place} class="chart-plot" aria-hidden="true" />
      <figcaption>
        <span class="visually-hidden">{title}, now: </span>
        {series.map(({ label, color }, at) => (
          <span key={label} class="legend">
            <i class="legend-swatch" style={{ background: `var(${color})` }} />
            {label} <b>{formatShort(data[at + 1]?.at(-1) ?? 0)}</b>
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function aligned(data: ChartRows): uPlot.AlignedData {
  return data.map((row) => [...row]) as unknown as uPlot.AlignedData;
}

function optionsOf(
  element: HTMLElement,
  { series, isStepped, height }: Required<Pick<TimeChartProps, 'series' | 'isStepped' | 'height'>>,
): uPlot.Options {
  const stepped = isStepped ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
  const style = getComputedStyle(element);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: color('--muted'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
  return {
    width: Math.max(120, Math.floor(element.clientWidth)),
    height,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 28, 0, 0], // space for half of the last time label
    scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [
      {
        ...axis,
        space: 80,
        size: 26,
        incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 3_600],
        values: (_, splits) => splits.map((at) => new Date(at * 1_000).toLocaleTimeString('en-GB')),
      },
      {
        ...axis,
        size: 46,
        incrs: [1, 2, 5]
          .flatMap((step) => [0, 1, 2, 3, 4, 5, 6, 7, 8].map((zeros) => step * 10 ** zeros))
          .sort((a, b) => a - b),
        values: (_, splits) => splits.map(formatShort),
      },
    ],
    series: [
      {},
      ...series.map(({ label, color: name, isFilled }) => ({
        label,
        stroke: color(name),
        width: 1.5,
        points: { show: false },
        ...(stepped === undefined ? {} : { paths: stepped }),
        ...(isFilled === true
          ? { fill: `color-mix(in srgb, ${color(name)} 18%, transparent)` }
          : {}),
      })),
    ],
  };
}

/** Rates of the server, one sample per second up to now, as chart data. */
export function rateData(atMs: number, histories: readonly (readonly number[])[]): ChartRows {
  const length = Math.max(1, ...histories.map((history) => history.length));
  const times = Array.from({ length }, (_, at) => Math.round(atMs / 1_000) - (length - 1 - at));
  const rows = histories.map((history) => [
    ...Array.from({ length: length - history.length }, () => 0),
    ...history,
  ]);
  return [times, ...rows];
}
