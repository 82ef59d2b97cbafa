// Trackers, and the cells of one as a live heat map.
import { useEffect, useRef } from 'preact/hooks';
import { formatCount, formatDuration, formatNumberOf, formatShort } from '../format.js';
import { Badge, Card, Empty, Name } from '../marks.js';
import { pathOf, type Route } from '../route.js';
import { rateData, TimeChart } from '../time-chart.js';
import type { FairData, TrackerData } from '../view-data.js';

export interface FairViewProps {
  readonly data: FairData;
  readonly route: Extract<Route, { readonly view: 'fair' }>;
  readonly serverAtMs: number;
}

export function FairView({ data, route, serverAtMs }: FairViewProps) {
  const { trackers, shown } = data;
  const tracker = trackers.find((known) => known.tracker === shown);
  const isUsed = trackers.some(({ streams, cells }) => streams > 0 || cells > 0);
  const [updates, invalid] = data.rates;
  return (
    <>
      {!data.isReachable && (
        <p class="banner">Redis is unreachable, so instances do not share what they learn.</p>
      )}
      <Card title="Traffic" aside={<span class="muted">per second</span>}>
        <TimeChart
          title="Updates and invalid messages from instances per second"
          series={[
            { label: 'updates from instances', color: '--busy', isFilled: true },
            { label: 'invalid messages', color: '--bad' },
          ]}
          data={rateData(serverAtMs, [updates?.history ?? [], invalid?.history ?? []])}
        />
      </Card>
      {route.tracker !== '' && tracker === undefined && (
        <NoSuchTracker name={route.tracker} known={trackers.map((known) => known.tracker)} />
      )}
      <Card
        title="Trackers"
        aside={<span class="muted">{formatNumberOf(data.streams, 'stream')}</span>}
      >
        {isUsed ? (
          <TrackersTable data={data} />
        ) : (
          <Empty title="No instances connected">
            <p>
              To connect one, use <code>createFairTracker</code> with a gRPC remote; see
              docs/fair.md.
            </p>
          </Empty>
        )}
      </Card>
      {data.callers.length > 0 && <Callers data={data} />}
      {tracker !== undefined && isUsed && <Cells data={data} tracker={tracker} />}
    </>
  );
}

function NoSuchTracker(props: { readonly name: string; readonly known: readonly string[] }) {
  return (
    <div class="banner" role="alert">
      <p>
        There is no tracker <Name text={props.name} /> on this server.{' '}
        {props.known.length === 0
          ? 'No tracker has connected yet.'
          : props.known.length === 1
            ? 'The only one is '
            : 'The trackers are '}
        {props.known.map((tracker, at) => (
          <span key={tracker}>
            {at > 0 && ', '}
            <a href={pathOf({ view: 'fair', tracker })}>
              <Name text={tracker} />
            </a>
          </span>
        ))}
        {props.known.length > 0 && '.'}
      </p>
    </div>
  );
}

function TrackersTable({ data }: { readonly data: FairData }) {
  const [updates, invalid] = data.rates;
  return (
    <div class="scroll-x">
      <table class="stack">
        <thead>
          <tr>
            <th>Tracker</th>
            <th class="number">Instances</th>
            <th class="number">Updates/s</th>
            <th class="number">Invalid/s</th>
            <th class="number">Cells</th>
            <th>Decay</th>
            <th>State</th>
          </tr>
        </thead>
        <tbody>
          {data.trackers.map((tracker) => (
            <tr key={tracker.tracker} class={tracker.tracker === data.shown ? 'is-chosen' : ''}>
              <td data-label="Tracker">
                <a href={pathOf({ view: 'fair', tracker: tracker.tracker })}>
                  <Name text={tracker.tracker} />
                </a>
              </td>
              <td data-label="Instances" class="number">
                {formatCount(tracker.instances)}
              </td>
              <td data-label="Updates/s" class="number">
                {formatShort(updates?.byLabel[tracker.tracker] ?? 0)}
              </td>
              <td data-label="Invalid/s" class="number">
                {formatShort(invalid?.byLabel[tracker.tracker] ?? 0)}
              </td>
              <td data-label="Cells" class="number">
                {formatCount(tracker.cells)}
              </td>
              <td data-label="Decay">{tracker.config?.policy ?? 'none'}</td>
              <td data-label="State">
                {tracker.streamsBehind > 0 ? (
                  <Badge tone="warn">{tracker.streamsBehind} behind</Badge>
                ) : (
                  <Badge tone={tracker.streams > 0 ? 'good' : 'idle'}>
                    {tracker.streams > 0 ? 'in sync' : 'no streams'}
                  </Badge>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cells({ data, tracker }: { readonly data: FairData; readonly tracker: TrackerData }) {
  const cells = data.cells ?? [];
  const top = cells.slice(0, 8);
  return (
    <Card
      title={
        <>
          Cells of <Name text={tracker.tracker} />
        </>
      }
      aside={<HeatLegend />}
    >
      {cells.length === 0 ? (
        <Empty title="No caller is throttled" />
      ) : (
        <>
          <HeatMap cells={cells} tracker={tracker} />
          <p class="muted">
            Each row is a level, each column a cell. A caller is hashed to one cell per level and
            throttled with the lowest of their probabilities.
          </p>
          <div class="scroll-x">
            <table class="stack">
              <caption>Hottest cells</caption>
              <thead>
                <tr>
                  <th>Level</th>
                  <th class="number">Cell</th>
                  <th class="number">Probability</th>
                  <th>Changed</th>
                </tr>
              </thead>
              <tbody>
                {top.map(([seed, row, column, perMille, ageMs]) => (
                  <tr key={`${seed}/${row}/${column}`}>
                    <td data-label="Level">{row}</td>
                    <td data-label="Cell" class="number">
                      {column}
                    </td>
                    <td data-label="Probability" class="number">
                      {(perMille / 10).toFixed(1)}%
                    </td>
                    <td data-label="Changed">
                      {ageMs < 0 ? 'unknown' : `${formatDuration(ageMs)} ago`}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </Card>
  );
}

function Callers({ data }: { readonly data: FairData }) {
  return (
    <Card title="Most throttled callers" aside={<span class="muted">reported by instances</span>}>
      <div class="scroll-x">
        <table class="stack">
          <thead>
            <tr>
              <th>Caller</th>
              <th class="number">Probability</th>
              <th class="number">Throttled/s</th>
              <th class="number">Instances</th>
            </tr>
          </thead>
          <tbody>
            {data.callers.map(({ key, probability, throttledPerSecond, instances }) => (
              <tr key={key}>
                <td data-label="Caller">
                  <Name text={key} />
                </td>
                <td data-label="Probability" class="number">
                  {(probability * 100).toFixed(1)}%
                </td>
                <td data-label="Throttled/s" class="number">
                  {formatShort(throttledPerSecond)}
                </td>
                <td data-label="Instances" class="number">
                  {formatCount(instances)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

function HeatLegend() {
  return (
    <span class="heat-legend" aria-hidden="true">
      0% <i class="heat-scale" /> 100%
    </span>
  );
}

const ROW_HEIGHT = 28;

function HeatMap({
  cells,
  tracker,
}: {
  readonly cells: NonNullable<FairData['cells']>;
  readonly tracker: TrackerData;
}) {
  const place = useRef<HTMLCanvasElement>(null);
  const rows = tracker.config?.levels ?? 1 + Math.max(0, ...cells.map(([, row]) => row));
  const columns =
    tracker.config?.columns ?? 1 + Math.max(0, ...cells.map(([, , column]) => column));
  useEffect(() => {
    const draw = () => {
      if (place.current !== null) drawHeat(place.current, cells, { rows, columns });
    };
    draw();
    const observer = new ResizeObserver(draw);
    if (place.current !== null) observer.observe(place.current);
    addEventListener('syncline:theme', draw);
    return () => {
      observer.disconnect();
      removeEventListener('syncline:theme', draw);
    };
  }, [cells, rows, columns]);
  const hot = cells.filter(([, , , perMille]) => perMille >= 100).length;
  return (
    <canvas
      ref={place}
      class="heat"
      style={{ height: `${rows * ROW_HEIGHT}px` }}
      role="img"
      aria-label={`${rows} levels of ${columns} cells; ${hot} cells are above 10 percent`}
    />
  );
}

function drawHeat(
  canvas: HTMLCanvasElement,
  cells: NonNullable<FairData['cells']>,
  { rows, columns }: { readonly rows: number; readonly columns: number },
): void {
  const scale = devicePixelRatio;
  const width = canvas.clientWidth;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(rows * ROW_HEIGHT * scale);
  const context = canvas.getContext('2d');
  if (context === null) return;
  context.scale(scale, scale);
  const style = getComputedStyle(canvas);
  context.fillStyle = style.getPropertyValue('--heat-0');
  for (let row = 0; row < rows; row += 1)
    context.fillRect(0, row * ROW_HEIGHT + 2, width, ROW_HEIGHT - 4);
  const step = width / columns;
  const hot = style.getPropertyValue('--heat-1').trim();
  // Cool cells are drawn first, so that they never hide a hot one. Hot cells are also taller, not only darker.
  for (const [, row, column, perMille] of cells.toReversed()) {
    const heat = perMille / 1_000;
    const height = (ROW_HEIGHT - 4) * Math.max(0.15, heat);
    context.globalAlpha = 0.25 + 0.75 * heat;
    context.fillStyle = hot;
    context.fillRect(
      column * step,
      row * ROW_HEIGHT + ROW_HEIGHT - 2 - height,
      Math.max(1.5, step - 0.5),
      height,
    );
  }
  context.globalAlpha = 1;
}
