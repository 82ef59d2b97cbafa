// Pipelines that report to this node, one card per slot.

import { useContext } from 'preact/hooks';
import { Age, ServerClock, useNow } from '../clock.js';
import { formatBytes, formatCount, formatDuration, formatShort, visible } from '../format.js';
import { Badge, Card, Empty, Facts, Name, Sparkline, type Tone } from '../marks.js';
import type { PipelineData, StreamsData } from '../view-data.js';

/** A pipeline reports every second. */
const SILENT_MS = 10_000;

export function StreamsView({ data }: { readonly data: StreamsData }) {
  if (data.pipelines.length === 0) {
    return (
      <Card title="Pipelines">
        <Empty title="No pipelines report to this node">
          <p>
            A pipeline runs in your own process. It appears here if you start it with{' '}
            <code>progress: serverProgress({'{ url }'})</code>.
          </p>
        </Empty>
      </Card>
    );
  }
  return (
    <div class="cards cards-wide">
      {data.pipelines.map((pipeline) => (
        <PipelineCard key={`${pipeline.pipeline} ${pipeline.slot}`} pipeline={pipeline} />
      ))}
    </div>
  );
}

function PipelineCard({ pipeline }: { readonly pipeline: PipelineData }) {
  const now = useNow() + useContext(ServerClock);
  const hasEnded = /^(finished|stopped|failed)$/.test(pipeline.state);
  const isSilent = !hasEnded && now - pipeline.reportedAtMs > SILENT_MS;
  const { watermarkMs, lagRecords, heldBackBy, error } = pipeline;
  return (
    <Card
      class={isSilent ? 'is-old' : ''}
      title={
        <>
          <Name text={pipeline.pipeline} /> <span class="muted">slot {pipeline.slot}</span>
        </>
      }
      aside={
        isSilent ? (
          <Badge tone="bad">silent</Badge>
        ) : (
          <Badge tone={toneOf(pipeline)}>{visible(pipeline.state)}</Badge>
        )
      }
    >
      <div class="slice-rate">
        <p class="big">
          {formatShort(hasEnded || isSilent ? 0 : pipeline.recordsInPerSecond)}{' '}
          <small>records/s</small>
        </p>
        <Sparkline values={pipeline.rates} label="records per second" />
      </div>
      <Facts
        items={[
          ['Records in', formatCount(pipeline.recordsIn)],
          ['Records out', formatCount(pipeline.recordsOut)],
          [
            'Lag',
            typeof lagRecords === 'number' ? `${formatCount(lagRecords)} records` : 'unknown',
          ],
          [
            'Watermark',
            typeof watermarkMs === 'number' ? (
              <Age key="watermark" atMs={watermarkMs} />
            ) : (
              'none yet'
            ),
          ],
          [
            'Held back by',
            typeof heldBackBy === 'string' ? <Name key="held" text={heldBackBy} /> : 'nothing',
          ],
          ['Checkpoint', <Checkpoint key="checkpoint" pipeline={pipeline} />],
          [
            'Epoch',
            `${formatCount(pipeline.epoch)}, generation ${formatCount(pipeline.generation)}`,
          ],
          ['Reported', <>{formatDuration(Math.max(0, now - pipeline.reportedAtMs))} ago</>],
        ]}
      />
      {typeof error === 'string' && error !== '' && (
        <p class="field-error">
          <strong>Last error:</strong> {visible(error)}
        </p>
      )}
    </Card>
  );
}

function Checkpoint({ pipeline }: { readonly pipeline: PipelineData }) {
  const { epoch, epochAtMs, lastCheckpointMs, checkpointBytes } = pipeline;
  if (epoch === 0) return <>none yet</>;
  return (
    <>
      <Age atMs={epochAtMs} />
      {typeof checkpointBytes === 'number' && `, ${formatBytes(checkpointBytes)}`}
      {typeof lastCheckpointMs === 'number' && `, took ${formatDuration(lastCheckpointMs)}`}
    </>
  );
}

function toneOf({ state, error }: PipelineData): Tone {
  if (/fail/i.test(state) || (error ?? '') !== '') return 'bad';
  if (/run/i.test(state)) return 'good';
  if (/done|stop|finish|end/i.test(state)) return 'idle';
  return 'busy';
}
