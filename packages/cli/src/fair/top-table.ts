// The output of `syncline fair top`: the trackers, the most throttled callers and the hottest cells. The service does
// not know the keys of callers, so callers are shown only if instances report them.
import { renderColumns } from '../columns.js';
import { cutToWidth } from '../display-width.js';
import { formatDuration } from '../duration.js';
import type { Paint } from '../paint.js';
import { printable } from '../printable.js';
import { cutLines, type Screen, wrapWords } from '../screen.js';
import type { FairFacts } from './top-facts.js';

type NamespaceFacts = FairFacts['namespaces'][number];

const BAR_WIDTH = 20;
const NARROW_COLUMNS = 100;
const NARROW_BAR_WIDTH = 10;
const NARROW_NAME_WIDTH = 24;

export interface TopView {
  readonly limit: number;
  readonly paint: Paint;
  readonly screen: Screen;
  /** How to connect a tracker to the server, as code. Undefined if it accepts none. */
  readonly remote: string | undefined;
  /** How to quit, if the table is redrawn. */
  readonly hint?: string;
}

export function renderTop(facts: FairFacts, view: TopView): string {
  const { streams, streamsMax, isReachable } = facts;
  const { paint, screen, hint } = view;
  const head = `${paint('bold', 'fair')}  ${streams} of ${streamsMax} connections`;
  const lost = 'Redis is unreachable: clients decide on their own until it is back.';
  const top = [
    hint === undefined ? head : `${head}  ${paint('dim', hint)}`,
    ...(isReachable
      ? []
      : ['', ...wrapWords(lost, screen.columns).map((line) => paint('red', line))]),
    '',
  ];
  const rows = screen.rows - 1 - top.length; // the cursor is on the line below the last one
  const lines = [...top, ...renderBody(facts, view, rows)].slice(0, screen.rows - 1);
  return lines.map((line) => `${cutToWidth(line, screen.columns)}\n`).join('');
}

/** Shown instead of the table while the server is unreachable. */
export function renderOutage(
  ageMs: number,
  message: string,
  { paint, screen, hint }: Omit<TopView, 'limit' | 'remote'>,
): string {
  const text = `No reply for ${formatDuration(ageMs)}: ${message}`;
  const lines = wrapWords(text, screen.columns).map((line) => paint('red', line));
  return [...lines, ...(hint === undefined ? [] : ['', paint('dim', hint)]), ''].join('\n');
}

function nothing(remote: string | undefined): readonly string[] {
  const none = 'No trackers connected and no cells stored.';
  if (remote === undefined) return [`${none} None can connect: grpc.enabled is false.`];
  return [
    `${none} To connect one, create it with a remote from @syncline/fair/grpc:`,
    `createFairTracker({ secret, remote: ${remote} })`,
  ];
}

/** Whether there is nothing to show. */
export function isUnused({ namespaces, callers }: FairFacts): boolean {
  return callers.length === 0 && usedOf(namespaces).length === 0;
}

const usedOf = (namespaces: FairFacts['namespaces']) =>
  namespaces.filter((one) => one.streams > 0 || one.cells > 0);

function renderBody(facts: FairFacts, view: TopView, rows: number): readonly string[] {
  if (isUnused(facts))
    return nothing(view.remote).flatMap((text) => wrapWords(text, view.screen.columns));
  const used = usedOf(facts.namespaces);
  const sections = [trackerLines(used, view), callerLines(facts, view), cellLines(used, view)];
  return fitted(
    sections.filter((lines) => lines.length > 0),
    rows,
  );
}

/** Divides the rows between the sections: none but the last takes more than its share if those below need the space. */
function fitted(sections: readonly (readonly string[])[], rows: number): readonly string[] {
  const [first, ...rest] = sections;
  if (first === undefined) return [];
  if (rest.length === 0) return cutLines(first, rows);
  const below = rest.reduce((sum, lines) => sum + 1 + lines.length, 0);
  const shown = cutLines(first, Math.max(Math.floor(rows / sections.length), rows - below));
  return [...shown, '', ...fitted(rest, rows - 1 - shown.length)];
}

function callerLines({ callers }: FairFacts, { limit, paint, screen }: TopView): readonly string[] {
  if (callers.length === 0) return [];
  const titles = ['tracker', 'caller', 'throttled/s', 'probability', 'instances'];
  const rows = callers
    .slice(0, limit)
    .map(({ key, probability, throttledPerSecond, instances, ...one }) => [
      nameOf(one, screen),
      nameOf({ tracker: key }, screen),
      throttledPerSecond.toFixed(1),
      paint(probability >= 0.5 ? 'red' : 'yellow', probability.toFixed(4)),
      String(instances),
    ]);
  return linesOf([titles.map((title) => paint('dim', title)), ...rows]);
}

function trackerLines(
  namespaces: readonly NamespaceFacts[],
  { paint, screen }: TopView,
): readonly string[] {
  const titles = ['tracker', 'instances', 'connected', 'behind', 'seeds', 'cells', 'rule'];
  const rows = namespaces.map((one) => [
    nameOf(one, screen),
    one.config === undefined ? '' : String(one.instances),
    String(one.streams),
    one.streamsBehind === 0 ? '0' : paint('yellow', String(one.streamsBehind)),
    String(one.seeds.length),
    String(one.cells),
    ruleOf(one),
  ]);
  return linesOf([titles.map((title) => paint('dim', title)), ...rows]);
}

function cellLines(
  namespaces: readonly NamespaceFacts[],
  { limit, paint, screen }: TopView,
): readonly string[] {
  const cells = namespaces
    .flatMap((one) => one.highest.map((cell) => ({ name: nameOf(one, screen), ...cell })))
    .toSorted((left, right) => right.probability - left.probability)
    .slice(0, limit);
  if (cells.length === 0) return [];
  const barWidth = screen.columns < NARROW_COLUMNS ? NARROW_BAR_WIDTH : BAR_WIDTH;
  const titles = ['tracker', 'seed', 'row', 'column', 'probability', '', 'changed'];
  const rows = cells.map(({ name, seed, row, column, probability, ageMs }) => [
    name,
    printable(seed),
    String(row),
    String(column),
    probability.toFixed(4),
    paint(probability >= 0.5 ? 'red' : 'yellow', bar(probability, barWidth)),
    ageMs === undefined ? '' : `${formatDuration(ageMs)} ago`,
  ]);
  return linesOf([titles.map((title) => paint('dim', title)), ...rows]);
}

function linesOf(rows: readonly (readonly string[])[]): readonly string[] {
  return renderColumns(rows, '  ').trimEnd().split('\n');
}

function nameOf({ tracker }: Pick<NamespaceFacts, 'tracker'>, { columns }: Screen): string {
  const name = printable(tracker);
  return columns < NARROW_COLUMNS ? cutToWidth(name, NARROW_NAME_WIDTH) : name;
}

function ruleOf({ config }: NamespaceFacts): string {
  if (config === undefined) return 'sum, no decay';
  const { policy, ratePerSecond, levels, columns } = config;
  return `${printable(policy)} ${ratePerSecond}/s, ${levels} × ${columns}`;
}

function bar(probability: number, width: number): string {
  const length = Math.min(1, Math.max(0, probability)) * width;
  return '█'.repeat(Math.round(length));
}
