// Draws one panel of a chart: the client classes of a scenario over time, each labeled at the end of its line.
import type { ClassSeries } from '@syncline/fair/testing';
import { spreadLabels } from './spread-labels.js';
import { coordinate, escapeText } from './svg-text.js';

export interface PicturePanel {
  readonly title: string;
  /** Figures after the title. */
  readonly figures: string;
  readonly series: readonly ClassSeries[];
}

export interface PanelFrame {
  readonly width: number;
  readonly margin: number;
  readonly durationSeconds: number;
  readonly capacityPerSecond: number;
}

export const PANEL_HEIGHT = 238;

const PLOT = { top: 42, bottom: 206, left: 66, labelsWidth: 156 } as const;
const LABEL_HEIGHT = 40;

interface Scales {
  readonly right: number;
  x(seconds: number): number;
  y(rate: number): number;
}

export function drawPanel(panel: PicturePanel, frame: PanelFrame): string {
  const scales = scalesOf(panel, frame);
  const title = `${escapeText(panel.title)}<tspan class="soft" font-weight="400" dx="12">${escapeText(panel.figures)}</tspan>`;
  const paths = panel.series.map((series) => pathsOf(series, scales, frame));
  return [
    `<text class="name" x="${frame.margin}" y="24">${title}</text>`,
    drawAxes(scales, frame),
    ...paths.map(({ gap }, index) => `<path class="gap f${index}" d="${gap}"/>`),
    ...paths.map(({ share }, index) => `<path class="share c${index}" d="${share}"/>`),
    ...paths.map(({ served }, index) => `<path class="line c${index}" d="${served}"/>`),
    drawLabels(panel.series, scales),
  ].join('\n');
}

function scalesOf({ series }: PicturePanel, frame: PanelFrame): Scales {
  const { capacityPerSecond, durationSeconds, width, margin } = frame;
  const highest = Math.max(capacityPerSecond, ...series.flatMap(({ served }) => served));
  const right = width - margin - PLOT.labelsWidth;
  return {
    right,
    x: (seconds) => PLOT.left + ((right - PLOT.left) * seconds) / durationSeconds,
    y: (rate) => PLOT.bottom - ((PLOT.bottom - PLOT.top) * rate) / highest,
  };
}

function drawAxes({ right, x, y }: Scales, frame: PanelFrame): string {
  const { capacityPerSecond, durationSeconds } = frame;
  const levels = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const rate = part * capacityPerSecond;
    const kind = part === 0 ? 'base' : part === 1 ? 'cap' : 'grid';
    const line = `<path class="${kind}" d="M${PLOT.left} ${coordinate(y(rate))}H${right}"/>`;
    return `${line}<text class="tick" x="${PLOT.left - 8}" y="${coordinate(y(rate) + 4)}" text-anchor="end">${rate}${part === 1 ? '/s' : ''}</text>`;
  });
  const minutes = Array.from({ length: Math.floor(durationSeconds / 60) + 1 }, (_, minute) => {
    const text = minute === 0 ? '0' : `${minute} min`;
    return `<text class="tick" x="${coordinate(x(minute * 60))}" y="${PLOT.bottom + 18}" text-anchor="middle">${text}</text>`;
  });
  const capacity = `<text class="tick" x="${right}" y="${coordinate(y(capacityPerSecond) - 6)}" text-anchor="end">capacity</text>`;
  return [...levels, ...minutes, capacity].join('\n');
}

function pathsOf(series: ClassSeries, { x, y }: Scales, { durationSeconds }: PanelFrame) {
  const binSeconds = durationSeconds / series.served.length;
  const points = (rates: readonly number[]) =>
    rates.map((rate, bin) => `${coordinate(x((bin + 0.5) * binSeconds))} ${coordinate(y(rate))}`);
  const served = points(series.served);
  const share = points(series.share);
  return {
    served: `M${served.join('L')}`,
    share: `M${share.join('L')}`,
    gap: `M${served.join('L')}L${share.reverse().join('L')}Z`,
  };
}

function drawLabels(all: readonly ClassSeries[], { right, y }: Scales): string {
  const range = { from: PLOT.top + 12, to: PLOT.bottom - 20, height: LABEL_HEIGHT };
  const wanted = all.map(({ served }) => y(served.at(-1) ?? 0));
  const tops = spreadLabels(wanted, range);
  return all
    .map(({ name, served, share }, index) => {
      const isEntitled = (_: number, bin: number) => (share[bin] ?? 0) > 0; // the class sends requests at that time
      const text = `${mean(served.filter(isEntitled))} per s, fair ${mean(share.filter(isEntitled))}`;
      const top = tops[index] ?? 0;
      return [
        `<text class="name f${index}" x="${right + 14}" y="${coordinate(top)}">${escapeText(name)}</text>`,
        `<text class="soft" x="${right + 14}" y="${coordinate(top + 17)}">${text}</text>`,
      ].join('');
    })
    .join('\n');
}

function mean(rates: readonly number[]): string {
  const sum = rates.reduce((total, rate) => total + rate, 0);
  return (sum / Math.max(1, rates.length)).toFixed(0);
}
