// The progress of a job as rows: all cells first, then each tag with its worst message. Names and messages come
// from elsewhere, so control characters in them are shown, not obeyed.
import type { Counts, Progress, State } from '@syncline/jobs';
import type { Color, Paint } from '../paint.js';
import { printable } from '../printable.js';
import type { Screen } from '../screen.js';
import { type ProgressRow, renderProgressRows } from './progress-table.js';

const MESSAGE_WIDTH_LEAST = 36;

export function renderProgress(
  progress: Progress,
  options: { readonly paint: Paint; readonly screen: Screen },
): readonly string[] {
  return renderProgressRows(rowsOf(progress), {
    ...options,
    noun: 'tag',
    noteTitle: 'worst',
    noteWidthLeast: MESSAGE_WIDTH_LEAST,
  });
}

/** The total repeats what a tag says, so it says nothing, unless no tag has the worst cell. */
function rowsOf({ tags, cells, percent, worst }: Progress): readonly ProgressRow[] {
  const rows = tags.map((row) => ({
    name: printable(row.tag),
    cells: row.cells,
    percent: row.percent,
    note: describeWorst(row.worst),
    noteColor: noteColorOf(row.cells),
    isTotal: false,
  }));
  if (rows.length === 1 && rows[0]?.cells.total === cells.total) return rows;
  const note = worst.tag === '' ? describeWorst(worst) : '';
  return [
    { name: 'all', cells, percent, note, noteColor: noteColorOf(cells), isTotal: true },
    ...rows,
  ];
}

/** What there is to say about the worst cell. Of a finished one, which others have overtaken by nothing, little. */
function describeWorst({ tag, taskId, message, status, statusClass }: State): string {
  if (tag === '') return `task ${taskId} has written nothing`;
  if (statusClass === 'finished') return '';
  if (message !== '') return `task ${taskId}  ${printable(message)}`;
  return statusClass === 'not-started'
    ? `task ${taskId} has not started`
    : `task ${taskId}  status ${status}`;
}

function noteColorOf({ failed, warned }: Counts): Color {
  if (failed > 0) return 'red';
  return warned > 0 ? 'yellow' : 'dim';
}
