// What `syncline fair top` shows: the trackers, and their highest cells. Flow keys are not shown, since the
// service never sees one; a tracker's `peek` tells which cells a key has.
import type { StateServiceFacts } from '@syncline/fair';
import { renderColumns } from '../columns.js';
import { formatDuration } from '../duration.js';
import type { Paint } from '../paint.js';
import { printable } from '../printable.js';

type NamespaceFacts = StateServiceFacts['namespaces'][number];

const BAR_WIDTH = 20;

export function renderTop(facts: StateServiceFacts, limit: number, paint: Paint): string {
  const { streams, streamsMax, namespaces, isReachable } = facts;
  const used = namespaces.filter((one) => one.streams > 0 || one.cells > 0);
  const head = `${paint('bold', 'fair')}  ${streams} of ${streamsMax} streams\n`;
  const lost = paint('red', 'Redis cannot be reached: clients run alone until it is back.');
  return [
    head,
    isReachable ? '' : `\n${lost}\n`,
    used.length === 0
      ? '\nNo tracker is connected, and no cell is held. See docs/fair.md for how to share one.\n'
      : `\n${renderTrackers(used, paint)}${renderCells(used, limit, paint)}`,
  ].join('');
}

function renderTrackers(namespaces: readonly NamespaceFacts[], paint: Paint): string {
  const titles = ['tracker', 'instances', 'streams', 'behind', 'seeds', 'cells', 'rule'];
  const rows = namespaces.map((one) => [
    nameOf(one),
    one.config === undefined ? '' : String(one.instances),
    String(one.streams),
    one.streamsBehind === 0 ? '0' : paint('yellow', String(one.streamsBehind)),
    String(one.seeds.length),
    String(one.cells),
    ruleOf(one),
  ]);
  return renderColumns([titles.map((title) => paint('dim', title)), ...rows], '  ');
}

function renderCells(namespaces: readonly NamespaceFacts[], limit: number, paint: Paint): string {
  const cells = namespaces
    .flatMap((one) => one.highest.map((cell) => ({ name: nameOf(one), ...cell })))
    .toSorted((left, right) => right.probability - left.probability)
    .slice(0, limit);
  if (cells.length === 0) return '';
  const titles = ['tracker', 'seed', 'row', 'column', 'probability', '', 'changed'];
  const rows = cells.map(({ name, seed, row, column, probability, ageMs }) => [
    name,
    printable(seed),
    String(row),
    String(column),
    probability.toFixed(4),
    paint(probability >= 0.5 ? 'red' : 'yellow', bar(probability)),
    ageMs === undefined ? '' : `${formatDuration(ageMs)} ago`,
  ]);
  return `\n${renderColumns([titles.map((title) => paint('dim', title)), ...rows], '  ')}`;
}

function nameOf({ tracker }: NamespaceFacts): string {
  return printable(tracker);
}

function ruleOf({ config }: NamespaceFacts): string {
  if (config === undefined) return 'sum, no decay';
  const { policy, ratePerSecond, levels, columns } = config;
  return `${printable(policy)} ${ratePerSecond} per s, ${levels} × ${columns} cells`;
}

function bar(probability: number): string {
  const length = Math.min(1, Math.max(0, probability)) * BAR_WIDTH;
  return '█'.repeat(Math.round(length));
}
