// Renders the screen of `jobs watch`: job and connection, progress, lost tasks, and the age of the data.
import type { JobInfo, Progress, Scope, TaskLease } from '@syncline/jobs';
import { cutToWidth, displayWidth, padEnd } from '../display-width.js';
import { formatDuration } from '../duration.js';
import type { Color, Paint } from '../paint.js';
import { printable } from '../printable.js';
import { type Screen, wrapWords } from '../screen.js';
import { GAP, renderProgress } from './progress-table.js';

export type Connection =
  /** The replay of states is not complete yet. */
  | { readonly kind: 'loading'; readonly states: number }
  | { readonly kind: 'live' }
  | { readonly kind: 'down'; readonly attempt: number; readonly reason: string }
  /** The server answers, but cannot reach its store. */
  | { readonly kind: 'stale'; readonly attempt: number }
  /** The final picture: how the job ended. */
  | { readonly kind: 'ended'; readonly color: Color; readonly text: string };

export interface WatchPicture {
  readonly job: JobInfo;
  readonly scope: Scope;
  readonly progress: Progress;
  readonly lost: readonly TaskLease[];
  readonly connection: Connection;
  /** Time since the data was last known to be complete. */
  readonly ageMs: number;
  /** How to quit, while the picture is live. */
  readonly hint?: string;
}

/** Beyond this number, tasks are counted, not named. */
const LOST_NAMED_MAX = 20;

export interface ViewOptions {
  readonly paint: Paint;
  readonly screen: Screen;
}

export function renderWatch(picture: WatchPicture, { paint, screen }: ViewOptions): string[] {
  const head = [renderHeading(picture, { paint, screen }), ''];
  const foot = ['', renderLost(picture, paint), ...renderAge(picture, { paint, screen })];
  const rows = Math.max(1, screen.rows - head.length - foot.length);
  const table = renderProgress(picture.progress, { paint, screen: { ...screen, rows } });
  return [...head, ...table, ...foot]
    .slice(0, screen.rows)
    .map((line) => cutToWidth(line, screen.columns));
}

/** The job on the left, the connection on the right. */
function renderHeading(
  { job, scope, connection, hint }: WatchPicture,
  { paint, screen }: ViewOptions,
): string {
  const facts = [
    job.numTasks === 1 ? '1 task' : `${job.numTasks} tasks`,
    ...(scope.tag === undefined ? [] : [`tag ${printable(scope.tag)}`]),
    ...(scope.taskId === undefined ? [] : [`task ${scope.taskId}`]),
  ];
  const marked = job.deletedAtMs === undefined ? '' : `  ${paint('yellow', 'marked as deleted')}`;
  const left = ` ${paint('bold', printable(job.jobId))}  ${paint('dim', facts.join(', '))}${marked}`;
  const { color, text } = connectionText(connection);
  const state = paint(color, text);
  const columns = Math.min(screen.columns, 120);
  const withHint = hint === undefined ? state : `${paint('dim', hint)}  ${state}`;
  const isRoomy = displayWidth(left) + GAP + displayWidth(withHint) <= columns;
  const right = isRoomy ? withHint : state;
  const shown = cutToWidth(left, Math.max(0, columns - GAP - displayWidth(right)));
  return `${padEnd(shown, columns - displayWidth(right))}${right}`;
}

function connectionText(connection: Connection): { readonly color: Color; readonly text: string } {
  switch (connection.kind) {
    case 'live':
      return { color: 'green', text: '● live' };
    case 'loading':
      return {
        color: 'cyan',
        text: `◌ loading ${connection.states.toLocaleString('en-US')} states`,
      };
    case 'stale':
      return { color: 'red', text: '○ stale' };
    case 'down':
      return { color: 'red', text: '○ reconnecting' };
    case 'ended':
      return connection;
    default:
      return connection satisfies never;
  }
}

export function renderLost(
  { progress, lost, scope }: Pick<WatchPicture, 'progress' | 'lost' | 'scope'>,
  paint: Paint,
): string {
  const lead = ` ${paint('dim', 'lost')}  `;
  const { lostTasks } = progress;
  if (lostTasks === 0) return `${lead}${paint('dim', 'none')}`;
  const named = lost
    .filter(({ taskId }) => scope.taskId === undefined || scope.taskId === taskId)
    .slice(0, LOST_NAMED_MAX)
    .map(({ taskId, holder }) =>
      holder === '' ? String(taskId) : `${taskId} (${printable(holder)})`,
    );
  if (named.length < lostTasks) named.push('…');
  const count = lostTasks === 1 ? '1 task' : `${lostTasks} tasks`;
  return `${lead}${paint('red', `${count}: ${named.join(', ')}`)}`;
}

function renderAge(
  { connection, ageMs, progress }: WatchPicture,
  { paint, screen }: ViewOptions,
): readonly string[] {
  const age = `${formatDuration(ageMs)} old, revision ${progress.revision.toLocaleString('en-US')}`;
  const lead = ` ${paint('dim', 'data')}  `;
  if (connection.kind !== 'down' && connection.kind !== 'stale') return [lead + paint('dim', age)];
  const reason =
    connection.kind === 'down' ? connection.reason : 'the server cannot reach its job store';
  const text = `${age}; attempt ${connection.attempt}: ${printable(reason)}`;
  const lines = wrapWords(text, screen.columns - displayWidth(lead));
  return lines.map((line, at) => `${at === 0 ? lead : ' '.repeat(7)}${paint('red', line)}`);
}
