// Components that all views share: status marks, names, cards, bars and sparklines.
//
// A status is never shown by color alone: each has a shape and a word.
import type { ComponentChildren } from 'preact';
import { formatCount, visible } from './format.js';

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle';

const SHAPES: Readonly<Record<Tone, string>> = {
  good: 'M3 8.5 6.5 12 13 4.5',
  busy: 'M8 2a6 6 0 1 1 0 12a6 6 0 1 1 0-12M8 5v3.4l2.4 1.4',
  warn: 'M8 2.5 14.5 13.5h-13zM8 6.5v3.2M8 11.4v.3',
  bad: 'M4 4l8 8M12 4l-8 8',
  idle: 'M8 4a4 4 0 1 1 0 8a4 4 0 1 1 0-8',
};

export function Mark({ tone }: { readonly tone: Tone }) {
  return (
    <svg class={`mark mark-${tone}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={SHAPES[tone]} />
    </svg>
  );
}

export function Badge({
  tone,
  children,
}: {
  readonly tone: Tone;
  readonly children: ComponentChildren;
}) {
  return (
    <span class={`badge badge-${tone}`}>
      <Mark tone={tone} />
      {children}
    </span>
  );
}

/** A name that a client chose: isolated, on one line, with its full text in the tooltip. */
export function Name({ text }: { readonly text: string }) {
  const shown = visible(text);
  return (
    <bdi class="name" title={shown.slice(0, 1_000)}>
      {shown === '' ? <i class="muted">empty</i> : shown.slice(0, 300)}
    </bdi>
  );
}

export function Card(props: {
  readonly title: ComponentChildren;
  readonly aside?: ComponentChildren;
  readonly class?: string;
  readonly children: ComponentChildren;
}) {
  return (
    <section class={`card ${props.class ?? ''}`}>
      <header class="card-head">
        <h2>{props.title}</h2>
        {props.aside !== undefined && <div class="card-aside">{props.aside}</div>}
      </header>
      {props.children}
    </section>
  );
}

/** Label and value pairs. */
export function Facts({
  items,
}: {
  readonly items: readonly (readonly [string, ComponentChildren])[];
}) {
  return (
    <dl class="facts">
      {items.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

export function Skeleton() {
  return (
    <div class="skeleton" aria-busy="true">
      <span class="visually-hidden">Loading</span>
    </div>
  );
}

export function Sparkline({
  values,
  label,
}: {
  readonly values: readonly number[];
  readonly label: string;
}) {
  const width = 120;
  const height = 32;
  const points = values.length > 1 ? values : [0, ...values, 0].slice(0, 2);
  const max = Math.max(1, ...points);
  const step = width / Math.max(1, points.length - 1);
  const line = points
    .map((value, at) => `${at === 0 ? 'M' : 'L'}${(at * step).toFixed(1)} ${y(value).toFixed(1)}`)
    .join('');
  function y(value: number): number {
    return height - 2 - (value / max) * (height - 5);
  }
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}, last ${points.length} s, at most ${formatCount(max)} per second`}
    >
      <path class="sparkline-area" d={`${line}L${width} ${height}L0 ${height}Z`} />
      <path class="sparkline-line" d={line} vector-effect="non-scaling-stroke" />
    </svg>
  );
}

export const CLASS_NAMES = ['not started', 'running', 'finished', 'warned', 'failed'] as const;
const CLASS_IDS = ['waiting', 'running', 'finished', 'warned', 'failed'] as const;
export const CLASS_TONES = [
  'idle',
  'busy',
  'good',
  'warn',
  'bad',
] as const satisfies readonly Tone[];

/**
 * `counts` are in the order of CLASS_NAMES. `partly` is the progress of the unfinished cells, which extends the
 * finished part of the bar.
 */
export function ProgressBar({
  counts,
  partly = 0,
}: {
  readonly counts: readonly number[];
  readonly partly?: number;
}) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const widths = [...counts];
  let left = partly;
  for (const at of [1, 3, 4, 0]) {
    const part = Math.min(left, widths[at] ?? 0);
    widths[at] = (widths[at] ?? 0) - part;
    left -= part;
  }
  widths[2] = (widths[2] ?? 0) + partly - left;
  const order = [2, 1, 3, 4, 0].filter((at) => (widths[at] ?? 0) > 0);
  const words = order
    .filter((at) => (counts[at] ?? 0) > 0)
    .map((at) => `${formatCount(counts[at] ?? 0)} ${CLASS_NAMES[at]}`)
    .join(', ');
  return (
    <div class="bar" role="img" aria-label={words === '' ? 'no cells' : words} title={words}>
      {order.map((at) => (
        <span
          key={at}
          class={`bar-part bar-${CLASS_IDS[at]}`}
          style={{ width: `${(100 * (widths[at] ?? 0)) / total}%` }}
        />
      ))}
    </div>
  );
}
