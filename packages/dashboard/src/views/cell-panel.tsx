// The selected cell: its state, the lease of its task, its changes, and the raw JSON.
import { useContext, useEffect, useState } from 'preact/hooks';
import { Age, ServerClock, useNow } from '../clock.js';
import { formatCount, formatDuration, formatPercent, visible } from '../format.js';
import type { GridChange } from '../job-data.js';
import { Badge, Card, CLASS_NAMES, CLASS_TONES, Facts, Name } from '../marks.js';
import { request } from '../server.js';

/** At most this often, however fast the job changes. */
const REFRESH_MS = 500;
const CHANGES_MAX = 50;
const CLASS_INDEX: Readonly<Record<string, number>> = {
  'not-started': 0,
  running: 1,
  finished: 2,
  warned: 3,
  failed: 4,
};

interface Cell {
  readonly state?: {
    readonly status: number;
    readonly statusClass: string;
    readonly message: string;
    readonly progress?: number;
    readonly timestampMs: number;
    readonly version: number;
    readonly revision: number;
  };
  readonly lease?: {
    readonly state: string;
    readonly holder: string;
    readonly epoch: number;
    readonly ttlMs: number;
    readonly expiresAtMs: number;
  };
  readonly recent: readonly GridChange[];
}

export interface CellPanelProps {
  readonly job: string;
  readonly task: number;
  readonly tag: string;
  /** The revision of the job: the cell is fetched again when it increases. */
  readonly revision: number;
  readonly onClose: () => void;
}

function factsOf(cell: Cell | undefined) {
  const state = cell?.state;
  return [
    ['Status', state === undefined ? 'never written' : formatCount(state.status)],
    ...(state?.progress === undefined
      ? []
      : [['Progress', formatPercent(state.progress, 1)] as const]),
    ['Version', formatCount(state?.version ?? 0)],
    ['Revision', formatCount(state?.revision ?? 0)],
    ['Written', state === undefined ? 'never' : <Age key="age" atMs={state.timestampMs} />],
    ['Lease', <Lease key="lease" lease={cell?.lease} />],
  ] as const;
}

export function CellPanel({ job, task, tag, revision, onClose }: CellPanelProps) {
  const [cell, setCell] = useState<Cell>();
  const [problem, setProblem] = useState('');
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    setCell(undefined);
  }, [job, task, tag]);
  useEffect(() => {
    const abort = new AbortController();
    const query = new URLSearchParams({ task: String(task), tag });
    request(`/api/jobs/${encodeURIComponent(job)}/cell?${query}`, { signal: abort.signal })
      .then((response) => response.json() as Promise<Cell>)
      .then((given) => {
        setProblem('');
        setCell((before) => ({ ...given, recent: merged(before?.recent ?? [], given) }));
      })
      .catch((thrown: unknown) => {
        if (!abort.signal.aborted)
          setProblem(thrown instanceof Error ? thrown.message : String(thrown));
      });
    return () => abort.abort();
  }, [job, task, tag, turn]);
  useEffect(() => {
    const timer = setTimeout(() => setTurn(revision), REFRESH_MS);
    return () => clearTimeout(timer);
  }, [revision]);
  const state = cell?.state;
  const at = CLASS_INDEX[state?.statusClass ?? 'not-started'] ?? 0;
  return (
    <Card
      class="panel"
      title={
        <>
          Task {task} · <Name text={tag} />
        </>
      }
      aside={
        <button type="button" class="quiet" onClick={onClose} aria-label="Close the cell">
          Close
        </button>
      }
    >
      {problem !== '' && <p class="field-error">{problem}</p>}
      <p>
        <Badge tone={CLASS_TONES[at] ?? 'idle'}>{CLASS_NAMES[at]}</Badge>
      </p>
      {state?.message !== undefined && state.message !== '' && (
        <p class="message">{visible(state.message)}</p>
      )}
      <Facts items={factsOf(cell)} />
      {cell !== undefined && cell.recent.length > 0 && (
        <>
          <h3>Changes</h3>
          <ol class="changes">
            {cell.recent.toReversed().map((change) => (
              <li key={change.revision}>
                <Badge tone={CLASS_TONES[change.class] ?? 'idle'}>v{change.version}</Badge>
                <span class="grow clip">
                  {visible(change.message) || CLASS_NAMES[change.class]}
                </span>
                <span class="muted">
                  <Age atMs={change.timestampMs} />
                </span>
              </li>
            ))}
          </ol>
        </>
      )}
      <details>
        <summary>Raw JSON</summary>
        <pre tabIndex={0}>
          {visible(JSON.stringify(state ?? null, null, 2)).replaceAll('\u240a', '\n')}
        </pre>
      </details>
    </Card>
  );
}

function Lease({ lease }: { readonly lease: Cell['lease'] }) {
  const now = useNow() + useContext(ServerClock);
  if (lease === undefined) return <>none</>;
  const leftMs = lease.expiresAtMs - now;
  return (
    <>
      <Badge tone={lease.state === 'held' ? 'good' : 'bad'}>{lease.state}</Badge> by{' '}
      <Name text={lease.holder} />, epoch {lease.epoch}
      {lease.state === 'held' &&
        lease.expiresAtMs > 0 &&
        `, expires in ${formatDuration(Math.max(0, leftMs))}`}
    </>
  );
}

/** What the server still has, what we saw before, and the current state, each revision once. */
function merged(before: readonly GridChange[], { recent, state }: Cell): readonly GridChange[] {
  const byRevision = new Map([...before, ...recent].map((change) => [change.revision, change]));
  if (state !== undefined && !byRevision.has(state.revision)) {
    const { status, message, version, revision, timestampMs, statusClass } = state;
    const at = CLASS_INDEX[statusClass] ?? 0;
    byRevision.set(revision, {
      task: 0,
      tag: '',
      status,
      class: at,
      message,
      version,
      revision,
      timestampMs,
    });
  }
  return [...byRevision.values()].sort((a, b) => a.revision - b.revision).slice(-CHANGES_MAX);
}
