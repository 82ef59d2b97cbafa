// The jobs of this node, searchable, with the progress of each.
import { useEffect, useState } from 'preact/hooks';
import { Age } from '../clock.js';
import { formatCount, formatShort } from '../format.js';
import { Badge, Card, Empty, Name, ProgressBar, type Tone } from '../marks.js';
import { navigate, pathOf, type Route } from '../route.js';
import { rateData, TimeChart } from '../time-chart.js';
import type { CountsData, JobsData } from '../view-data.js';

const SEARCH_WAIT_MS = 250;
const FILTERS = [
  ['', 'All'],
  ['failed', 'Failed'],
  ['warned', 'Warned'],
  ['not-started', 'Not started'],
  ['running', 'Running'],
  ['finished', 'Finished'],
] as const;

type JobsRoute = Extract<Route, { readonly view: 'jobs' }>;

export interface JobsViewProps {
  readonly data: JobsData;
  readonly route: JobsRoute;
  readonly serverAtMs: number;
}

export function JobsView({ data, route, serverAtMs }: JobsViewProps) {
  const [writes, errors] = data.rates;
  const isFiltered = route.q !== '' || route.worst !== '';
  return (
    <>
      <Card title="Writes" aside={<span class="muted">per second</span>}>
        <TimeChart
          title="Writes and failed writes per second"
          series={[
            { label: 'writes', color: '--busy', isFilled: true },
            { label: 'errors', color: '--bad' },
          ]}
          data={rateData(serverAtMs, [writes?.history ?? [], errors?.history ?? []])}
          height={120}
        />
      </Card>
      <Card title="Jobs" aside={<Filters route={route} />}>
        {data.jobs.length === 0 && data.damaged.length === 0 ? (
          <Empty title={isFiltered ? 'No matching jobs' : 'No jobs yet'}>
            <p>
              {isFiltered ? (
                <a href="/jobs">Show all jobs</a>
              ) : (
                <>
                  <code>npm run example -- jobs-nightly</code> creates one.
                </>
              )}
            </p>
          </Empty>
        ) : (
          <JobsTable data={data} />
        )}
        {data.hasMore && <p class="muted">There are more jobs. Search to narrow the list.</p>}
      </Card>
    </>
  );
}

function Filters({ route }: { readonly route: JobsRoute }) {
  const [text, setText] = useState(route.q);
  useEffect(() => {
    if (text === route.q) return;
    const timer = setTimeout(() => navigate({ ...route, q: text }, 'replace'), SEARCH_WAIT_MS);
    return () => clearTimeout(timer);
  }, [text, route]);
  return (
    <div class="filters">
      <input
        type="search"
        aria-label="Search jobs by name"
        placeholder="Search  /"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <select
        aria-label="Worst state"
        value={route.worst}
        onChange={(event) => navigate({ ...route, worst: event.currentTarget.value })}
      >
        {FILTERS.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </div>
  );
}

function JobsTable({ data }: { readonly data: JobsData }) {
  return (
    <div class="scroll-x">
      <table class="jobs stack">
        <thead>
          <tr>
            <th>Job</th>
            <th>State</th>
            <th class="wide">Progress</th>
            <th class="number">Done</th>
            <th class="number">Tasks</th>
            <th>Changed</th>
          </tr>
        </thead>
        <tbody>
          {data.jobs.map(({ job, cells, percent, lostTasks }) => {
            const state = stateOf(cells, lostTasks, job.deletedAtMs !== undefined);
            return (
              <tr key={job.jobId}>
                <td data-label="Job">
                  <a href={pathOf({ view: 'job', job: job.jobId, task: -1, tag: '' })}>
                    <Name text={job.jobId} />
                  </a>
                </td>
                <td data-label="State">
                  <Badge tone={state.tone}>{state.text}</Badge>
                </td>
                <td data-label="Progress" class="wide">
                  <ProgressBar
                    counts={[
                      cells.notStarted,
                      cells.running,
                      cells.finished,
                      cells.warned,
                      cells.failed,
                    ]}
                    partly={(percent * cells.total) / 100 - cells.finished}
                  />
                </td>
                <td data-label="Done" class="number">
                  {percent}%
                </td>
                <td data-label="Tasks" class="number">
                  {formatShort(job.numTasks)}
                </td>
                <td data-label="Changed">
                  <Age atMs={job.changedAtMs} />
                </td>
              </tr>
            );
          })}
          {data.damaged.map((jobId) => (
            <tr key={jobId}>
              <td data-label="Job">
                <Name text={jobId} />
              </td>
              <td data-label="State" colSpan={5}>
                <Badge tone="bad">damaged</Badge> The metadata of this job cannot be read. Use{' '}
                <code>syncline jobs rm</code> to delete it.
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function stateOf(
  cells: CountsData,
  lostTasks: number,
  isDeleted: boolean,
): { readonly tone: Tone; readonly text: string } {
  if (isDeleted) return { tone: 'idle', text: 'deleted' };
  if (cells.failed > 0) return { tone: 'bad', text: `${formatCount(cells.failed)} failed` };
  if (lostTasks > 0) return { tone: 'bad', text: `${formatCount(lostTasks)} lost` };
  if (cells.warned > 0) return { tone: 'warn', text: `${formatCount(cells.warned)} warned` };
  if (cells.total > 0 && cells.finished === cells.total) return { tone: 'good', text: 'finished' };
  if (cells.running > 0 || cells.finished > 0) return { tone: 'busy', text: 'running' };
  return { tone: 'idle', text: 'not started' };
}
