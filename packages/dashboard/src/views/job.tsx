// One job: its progress, its grid, the selected cell, and the latest changes.
import { useRef, useState } from 'preact/hooks';
import { Age } from '../clock.js';
import { formatCount, formatProgress, visible } from '../format.js';
import { type JobPicture, totalsOf } from '../job-picture.js';
import {
  Badge,
  Card,
  CLASS_NAMES,
  CLASS_TONES,
  Empty,
  Facts,
  Name,
  ProgressBar,
} from '../marks.js';
import { navigate, pathOf, type Route } from '../route.js';
import { request } from '../server.js';
import { TimeChart } from '../time-chart.js';
import { CellPanel } from './cell-panel.js';
import { JobGridView } from './job-grid.js';
import { stateOf } from './jobs.js';

type JobRoute = Extract<Route, { readonly view: 'job' }>;

export function JobView({
  picture,
  route,
}: {
  readonly picture: JobPicture;
  readonly route: JobRoute;
}) {
  const { job } = picture;
  const totals = totalsOf(picture);
  const [notStarted = 0, running = 0, finished = 0, warned = 0, failed = 0] = totals;
  const total = notStarted + running + finished + warned + failed;
  const partly = picture.tags.reduce((sum, tag) => sum + tag.partly, 0);
  const counts = { notStarted, running, finished, warned, failed, total };
  const isDeleted = picture.isDeleted || picture.deletedAtMs !== undefined;
  const state = stateOf(counts, picture.lostTasks, isDeleted);
  const select = (task: number, tag: string) => navigate({ ...route, task, tag }, 'replace');
  return (
    <>
      <section class="card job-head">
        <p class="crumbs">
          <a href="/jobs">Jobs</a> <span aria-hidden="true">/</span> <Name text={job.jobId} />
        </p>
        <div class="job-title">
          <p class="big">
            {formatProgress(finished, partly, total)} <small>done</small>
          </p>
          <Badge tone={state.tone}>{state.text}</Badge>
          {!picture.isSynced && <Badge tone="busy">loading</Badge>}
          {picture.staleSinceMs !== undefined && (
            <Badge tone="warn">
              store lost <Age atMs={picture.staleSinceMs} />
            </Badge>
          )}
          <span class="grow" />
          {!isDeleted && <RemoveButton picture={picture} />}
        </div>
        <ProgressBar counts={totals} partly={partly} />
        <Facts
          items={[
            ['Tasks', formatCount(job.numTasks)],
            ['Tags', formatCount(picture.tags.length)],
            ['Changes/s', formatCount(picture.changesPerSecond)],
            ['Leases held', formatCount(picture.heldTasks)],
            ['Tasks lost', formatCount(picture.lostTasks)],
            ['Revision', formatCount(picture.revision)],
            ['Created', <Age key="created" atMs={job.createdAtMs} />],
            ...Object.entries(job.labels).map(
              ([name, value]) => [visible(name), <Name key={name} text={value} />] as const,
            ),
          ]}
        />
      </section>
      <div class={route.task < 0 ? '' : 'with-panel'}>
        <Card title="Tasks and tags" aside={<ClassLegend />}>
          {picture.tags.length === 0 ? (
            <Empty title="No tag has been written yet" />
          ) : (
            <JobGridView picture={picture} chosen={route} onChoose={select} />
          )}
          {picture.hiddenTags > 0 && (
            <p class="muted">
              {formatCount(picture.hiddenTags)} more tags do not fit into the grid.
            </p>
          )}
        </Card>
        {route.task >= 0 && (
          <CellPanel
            job={route.job}
            task={route.task}
            tag={route.tag}
            revision={picture.revision}
            onClose={() => select(-1, '')}
          />
        )}
      </div>
      <div class="columns">
        <Card title="Timeline">
          <TimeChart
            title="Cells by class"
            series={[
              { label: 'finished', color: '--good', isFilled: true },
              { label: 'running', color: '--busy' },
              { label: 'warned', color: '--warn' },
              { label: 'failed', color: '--bad' },
            ]}
            data={timelineOf(picture)}
            height={200}
          />
        </Card>
        <Card title="Tags">
          <TagsTable picture={picture} />
        </Card>
      </div>
      <Card title="Latest changes">
        <RecentChanges picture={picture} onChoose={select} />
      </Card>
    </>
  );
}

function timelineOf({ history }: JobPicture): readonly (readonly number[])[] {
  const times = history.map(([atMs = 0]) => atMs / 1_000);
  return [times, ...[3, 2, 4, 5].map((at) => history.map((row) => row[at] ?? 0))];
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

function TagsTable({ picture }: { readonly picture: JobPicture }) {
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
          {picture.tags.map(({ tag, counts, partly }) => (
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
  readonly picture: JobPicture;
  readonly onChoose: (task: number, tag: string) => void;
}) {
  const { recent, job } = props.picture;
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

function RemoveButton({ picture }: { readonly picture: JobPicture }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState('');
  const { jobId } = picture.job;
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
        Remove…
      </button>
      <dialog ref={dialog} aria-labelledby="remove-title">
        <h2 id="remove-title">Remove this job?</h2>
        <p>
          <Name text={jobId} /> and all its states are deleted for good. Tasks that still write are
          refused.
        </p>
        {problem !== '' && (
          <p class="field-error" role="alert">
            {problem}
          </p>
        )}
        <div class="dialog-buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Keep it
          </button>
          <button type="button" class="danger" onClick={() => void remove()}>
            Remove
          </button>
        </div>
      </dialog>
    </>
  );
}
