// One job: its progress, its grid, the selected cell, and the latest changes.
import { useContext, useRef, useState } from 'preact/hooks';
import { Age, ServerClock, useNow } from '../clock.js';
import { formatCount, formatNumberOf, formatProgress, visible } from '../format.js';
import { type JobData, totalsOf } from '../job-data.js';
import {
  Badge,
  Card,
  CLASS_NAMES,
  CLASS_TONES,
  Empty,
  Facts,
  Name,
  ProgressBar,
  Skeleton,
} from '../marks.js';
import { navigate, pathOf, type Route } from '../route.js';
import { request } from '../server.js';
import { TimeChart } from '../time-chart.js';
import { timelineOf } from '../timeline.js';
import { CellPanel } from './cell-panel.js';
import { JobGridView } from './job-grid.js';
import { stateOf } from './jobs.js';

type JobRoute = Extract<Route, { readonly view: 'job' }>;

export function JobView({ data, route }: { readonly data: JobData; readonly route: JobRoute }) {
  const { job } = data;
  const totals = totalsOf(data);
  const [notStarted = 0, running = 0, finished = 0, warned = 0, failed = 0] = totals;
  const total = notStarted + running + finished + warned + failed;
  const partly = data.tags.reduce((sum, tag) => sum + tag.partly, 0);
  const counts = { notStarted, running, finished, warned, failed, total };
  const isDeleted = data.isDeleted || data.deletedAtMs !== undefined;
  const state = stateOf(counts, data.lostTasks, isDeleted);
  const select = (task: number, tag: string) => navigate({ ...route, task, tag }, 'replace');
  const crumbs = (
    <p class="crumbs">
      <a href="/jobs">Jobs</a> <span aria-hidden="true">/</span> <Name text={job.jobId} />
    </p>
  );
  const stale = data.staleSinceMs !== undefined && (
    <Badge tone="warn">
      connection to the store lost <Age atMs={data.staleSinceMs} />
    </Badge>
  );
  if (!data.isSynced && !isDeleted) {
    return (
      <>
        <section class="card job-head">
          {crumbs}
          {stale}
        </section>
        <Skeleton />
      </>
    );
  }
  return (
    <>
      <section class="card job-head">
        {crumbs}
        <div class="job-title">
          <p class="big">
            {formatProgress(finished, partly, total)} <small>done</small>
          </p>
          <Badge tone={state.tone}>{state.text}</Badge>
          {stale}
          <span class="grow" />
          {!isDeleted && <RemoveButton data={data} />}
        </div>
        <ProgressBar counts={totals} partly={partly} />
        <Facts
          items={[
            ['Tasks', formatCount(job.numTasks)],
            ['Tags', formatCount(data.tags.length)],
            ['Changes/s', formatCount(data.changesPerSecond)],
            ['Leases held', formatCount(data.heldTasks)],
            ['Tasks lost', formatCount(data.lostTasks)],
            ['Revision', formatCount(data.revision)],
            ['Created', <Age key="created" atMs={job.createdAtMs} />],
            ...Object.entries(job.labels).map(
              ([name, value]) => [visible(name), <Name key={name} text={value} />] as const,
            ),
          ]}
        />
      </section>
      <div class={route.task < 0 ? '' : 'with-panel'}>
        <Card title="Tasks and tags" aside={<ClassLegend />}>
          {data.tags.length === 0 ? (
            <Empty title="No tags written yet" />
          ) : (
            <JobGridView data={data} chosen={route} onChoose={select} />
          )}
          {data.hiddenTags > 0 && (
            <p class="muted">
              Not in the grid, which has no room for more: {formatNumberOf(data.hiddenTags, 'tag')}.
            </p>
          )}
        </Card>
        {route.task >= 0 && (
          <CellPanel
            job={route.job}
            task={route.task}
            tag={route.tag}
            revision={data.revision}
            onClose={() => select(-1, '')}
          />
        )}
      </div>
      <div class="columns">
        <Card title="Timeline">
          <Timeline data={data} />
        </Card>
        <Card title="Tags">
          <TagsTable data={data} />
        </Card>
      </div>
      <Card title="Latest changes">
        <RecentChanges data={data} onChoose={select} />
      </Card>
    </>
  );
}

function Timeline({ data }: { readonly data: JobData }) {
  const now = useNow() + useContext(ServerClock);
  return (
    <TimeChart
      title="Cells by class"
      series={[
        { label: 'finished', color: '--good', isFilled: true },
        { label: 'running', color: '--busy' },
        { label: 'warned', color: '--warn' },
        { label: 'failed', color: '--bad' },
      ]}
      data={timelineOf(data.history, now)}
      isStepped={true}
      height={200}
    />
  );
}

function ClassLegend() {
  return (
    <div class="legend-row" aria-hidden="true">
      {[2, 1, 3, 4, 0].map((at) => (
        <Badge key={at} tone={CLASS_TONES[at] ?? 'idle'}>
          {CLASS_NAMES[at]}
        </Badge>
      ))}
    </div>
  );
}

function TagsTable({ data }: { readonly data: JobData }) {
  return (
    <div class="scroll-x tall">
      <table class="stack">
        <thead>
          <tr>
            <th>Tag</th>
            <th class="wide">Progress</th>
            <th class="number">Failed</th>
            <th class="number">Done</th>
          </tr>
        </thead>
        <tbody>
          {data.tags.map(({ tag, counts, partly }) => (
            <tr key={tag}>
              <td data-label="Tag">
                <Name text={tag} />
              </td>
              <td data-label="Progress" class="wide">
                <ProgressBar counts={counts} partly={partly} />
              </td>
              <td data-label="Failed" class="number">
                {formatCount(counts[4] ?? 0)}
              </td>
              <td data-label="Done" class="number">
                {formatProgress(
                  counts[2] ?? 0,
                  partly,
                  counts.reduce((sum, count) => sum + count, 0),
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const RECENT_SHOWN = 12;

function RecentChanges(props: {
  readonly data: JobData;
  readonly onChoose: (task: number, tag: string) => void;
}) {
  const { recent, job } = props.data;
  if (recent.length === 0) return <Empty title="No states written yet" />;
  return (
    <ol class="changes">
      {recent
        .slice(-RECENT_SHOWN)
        .reverse()
        .map((change) => (
          <li key={change.revision}>
            <Badge tone={CLASS_TONES[change.class] ?? 'idle'}>
              {CLASS_NAMES[change.class] ?? 'unknown'}
            </Badge>
            <a
              href={pathOf({ view: 'job', job: job.jobId, task: change.task, tag: change.tag })}
              onClick={(event) => {
                event.preventDefault();
                event.stopPropagation();
                props.onChoose(change.task, change.tag);
              }}
            >
              task {change.task} <Name text={change.tag} />
            </a>
            <span class="muted grow clip">{visible(change.message)}</span>
            <span class="muted">
              <Age atMs={change.timestampMs} />
            </span>
          </li>
        ))}
    </ol>
  );
}

function RemoveButton({ data }: { readonly data: JobData }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState('');
  const { jobId } = data.job;
  const remove = async () => {
    setProblem('');
    try {
      await request(`/api/jobs/${encodeURIComponent(jobId)}`, { method: 'DELETE' });
      dialog.current?.close();
      navigate({ view: 'jobs', q: '', worst: '' });
    } catch (thrown) {
      setProblem(thrown instanceof Error ? thrown.message : String(thrown));
    }
  };
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        Delete…
      </button>
      <dialog ref={dialog} aria-labelledby="remove-title">
        <h2 id="remove-title">Delete this job?</h2>
        <p>
          <Name text={jobId} /> and all its states will be deleted permanently. Tasks can no longer
          write to it.
        </p>
        {problem !== '' && (
          <p class="field-error" role="alert">
            {problem}
          </p>
        )}
        <div class="dialog-buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="button" class="danger" onClick={() => void remove()}>
            Delete
          </button>
        </div>
      </dialog>
    </>
  );
}
