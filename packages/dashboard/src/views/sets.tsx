// The sets of this node: a diagram of the cluster, the sets page by page, and the members of one set.
import { Age } from '../clock.js';
import { formatBytes, formatCount } from '../format.js';
import { Badge, Card, Empty, Facts, Name } from '../marks.js';
import { pathOf, type Route } from '../route.js';
import { rateData, TimeChart } from '../time-chart.js';
import type { SetData, SetsData, ShownBytes } from '../view-data.js';
import { ClusterDiagram } from './cluster-diagram.js';

export interface SetsViewProps {
  readonly data: SetsData;
  readonly route: Extract<Route, { readonly view: 'sets' }>;
  readonly serverAtMs: number;
}

export function SetsView({ data, route, serverAtMs }: SetsViewProps) {
  const [commands, operations] = data.rates;
  const { checkpoint } = data;
  return (
    <>
      {data.reason !== undefined && <p class="banner">{data.reason}</p>}
      <Card title="Cluster" aside={<Digest data={data} />}>
        <ClusterDiagram data={data} />
      </Card>
      <div class="columns">
        <Card title="Traffic" aside={<span class="muted">per second</span>}>
          <TimeChart
            title="Commands and operations per second"
            series={[
              { label: 'commands', color: '--busy', isFilled: true },
              { label: 'operations', color: '--good' },
            ]}
            data={rateData(serverAtMs, [commands?.history ?? [], operations?.history ?? []])}
          />
        </Card>
        <Card title="Memory and disk">
          <Facts
            items={[
              ['Sets', formatCount(data.sets)],
              ['Elements', formatCount(data.liveDots)],
              ['Memory', formatBytes(data.memoryBytes)],
              ['Log', formatBytes(data.logBytes)],
              [
                'Checkpoint',
                checkpoint.isRunning ? (
                  'being written'
                ) : checkpoint.takenMs === 0 ? (
                  'none yet'
                ) : (
                  <>
                    {formatBytes(checkpoint.bytes)}, <Age atMs={checkpoint.takenMs} />
                  </>
                ),
              ],
              ['Connections', formatCount(data.connections)],
              ['Epoch', formatCount(data.epoch)],
            ]}
          />
        </Card>
      </div>
      <Card
        title="Sets"
        aside={
          <Pages
            next={data.next}
            from={route.from}
            pathFrom={(from) => pathOf({ view: 'sets', from })}
          />
        }
      >
        {data.list.length === 0 ? (
          <Empty title={data.health === 'loading' ? 'The sets are being loaded' : 'No sets'}>
            <p>
              <code>redis-cli -p 7402 SADD fruits apple pear</code> creates one.
            </p>
          </Empty>
        ) : (
          <div class="scroll-x">
            <table>
              <thead>
                <tr>
                  <th>Set</th>
                  <th class="number">Members</th>
                </tr>
              </thead>
              <tbody>
                {data.list.map((set) => (
                  <tr key={set.id}>
                    <td>
                      {set.id === '' ? (
                        <Bytes value={set} />
                      ) : (
                        <a href={pathOf({ view: 'set', set: set.id, from: '' })}>
                          <Bytes value={set} />
                        </a>
                      )}
                    </td>
                    <td class="number">{formatCount(set.cardinality)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Card>
    </>
  );
}

export function SetView(props: {
  readonly data: SetData;
  readonly route: Extract<Route, { readonly view: 'set' }>;
}) {
  const { data, route } = props;
  return (
    <Card
      title={
        <span class="crumbs">
          <a href="/sets">Sets</a> <span aria-hidden="true">/</span> <Bytes value={data.set} />
        </span>
      }
      aside={
        <Pages
          next={data.next}
          from={route.from}
          pathFrom={(from) => pathOf({ view: 'set', set: route.set, from })}
        />
      }
    >
      <p class="big">
        {formatCount(data.cardinality)}{' '}
        <small>{data.cardinality === 1 ? 'member' : 'members'}</small>
      </p>
      {data.members.length === 0 ? (
        <Empty title={data.isLoading ? 'The sets are being loaded' : 'No members'} />
      ) : (
        <ul class="members">
          {data.members.map((member) => (
            <li key={`${member.id}${member.text}`}>
              <Bytes value={member} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Bytes({ value }: { readonly value: ShownBytes }) {
  const cutBytes = value.bytes - new TextEncoder().encode(value.text).length;
  return (
    <>
      <Name text={value.text} />
      {value.isBinary && <span class="tag">binary</span>}
      {!value.isBinary && cutBytes > 0 && <span class="tag">{formatBytes(value.bytes)}</span>}
    </>
  );
}

function Pages(props: {
  readonly next: number;
  readonly from: string;
  readonly pathFrom: (from: string) => string;
}) {
  const isFirst = props.from === '' || props.from === '0';
  if (isFirst && props.next === 0) return <span class="muted">all shown</span>;
  return (
    <div class="pages">
      {!isFirst && <a href={props.pathFrom('')}>First page</a>}
      {props.next !== 0 && <a href={props.pathFrom(String(props.next))}>Next page</a>}
    </div>
  );
}

/** Shows at a glance whether nodes are equal. */
function Digest({ data }: { readonly data: SetsData }) {
  const { replication } = data;
  const short = data.xor.slice(0, 8);
  if (replication === undefined) return <span class="muted">digest {short}</span>;
  const { divergedPeers, peers } = replication;
  if (divergedPeers.length > 0) return <Badge tone="bad">digests differ</Badge>;
  const away = peers.filter(({ state }) => state === 'down' || state === 'connecting').length;
  if (away > 0)
    return (
      <Badge tone="warn">{away === 1 ? 'one node unreachable' : `${away} nodes unreachable`}</Badge>
    );
  const lag = peers.reduce((sum, { lagOperations }) => sum + lagOperations, 0);
  if (lag > 0 || !replication.isCaughtUp) return <Badge tone="busy">catching up</Badge>;
  const last = new Map(replication.pulls.map((pull) => [pull.peer, pull.last]));
  const areEqual = peers.every(({ nodeId }) => last.get(nodeId)?.isEqual === true);
  if (!areEqual) return <Badge tone="busy">no lag, digests not compared yet</Badge>;
  return <Badge tone="good">digests equal, {short}</Badge>;
}
