// The sets of this node: the cluster as a picture, the sets page by page, and the members of one.
import { Age } from '../clock.js';
import { formatBytes, formatCount } from '../format.js';
import { Badge, Card, Empty, Facts, Name } from '../marks.js';
import type { SetPicture, SetsPicture, ShownBytes } from '../pictures.js';
import { pathOf, type Route } from '../route.js';
import { rateData, TimeChart } from '../time-chart.js';
import { ClusterPicture } from './cluster-picture.js';

export interface SetsViewProps {
  readonly picture: SetsPicture;
  readonly route: Extract<Route, { readonly view: 'sets' }>;
  readonly serverAtMs: number;
}

export function SetsView({ picture, route, serverAtMs }: SetsViewProps) {
  const [commands, operations] = picture.rates;
  const { checkpoint } = picture;
  return (
    <>
      {picture.reason !== undefined && <p class="banner">{picture.reason}</p>}
      <Card title="Cluster" aside={<Digest picture={picture} />}>
        <ClusterPicture picture={picture} />
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
              ['Sets', formatCount(picture.sets)],
              ['Elements', formatCount(picture.liveDots)],
              ['Memory', formatBytes(picture.memoryBytes)],
              ['Log', formatBytes(picture.logBytes)],
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
              ['Connections', formatCount(picture.connections)],
              ['Epoch', formatCount(picture.epoch)],
            ]}
          />
        </Card>
      </div>
      <Card
        title="Sets"
        aside={
          <Pages
            next={picture.next}
            from={route.from}
            pathFrom={(from) => pathOf({ view: 'sets', from })}
          />
        }
      >
        {picture.list.length === 0 ? (
          <Empty title={picture.health === 'loading' ? 'The sets are being loaded' : 'No sets'}>
            <p>
              <code>redis-cli -p 7402 SADD fruits apple pear</code> makes one.
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
                {picture.list.map((set) => (
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
  readonly picture: SetPicture;
  readonly route: Extract<Route, { readonly view: 'set' }>;
}) {
  const { picture, route } = props;
  return (
    <Card
      title={
        <span class="crumbs">
          <a href="/sets">Sets</a> <span aria-hidden="true">/</span> <Bytes value={picture.set} />
        </span>
      }
      aside={
        <Pages
          next={picture.next}
          from={route.from}
          pathFrom={(from) => pathOf({ view: 'set', set: route.set, from })}
        />
      }
    >
      <p class="big">
        {formatCount(picture.cardinality)}{' '}
        <small>{picture.cardinality === 1 ? 'member' : 'members'}</small>
      </p>
      {picture.members.length === 0 ? (
        <Empty title={picture.isLoading ? 'The sets are being loaded' : 'No members'} />
      ) : (
        <ul class="members">
          {picture.members.map((member) => (
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
function Digest({ picture }: { readonly picture: SetsPicture }) {
  const { replication } = picture;
  const short = picture.xor.slice(0, 8);
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
