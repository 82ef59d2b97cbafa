// The overview: problems first, then each kind of state, this node and its peers.
import { Age } from '../clock.js';
import { formatBytes, formatCount, formatDuration, formatLag, formatShort } from '../format.js';
import { Badge, Card, Empty, Facts, Mark, Sparkline, type Tone } from '../marks.js';
import type { OverviewData, PeerData, SliceData } from '../view-data.js';

const LISTENERS: Readonly<Record<string, string>> = {
  grpc: 'gRPC',
  http: 'HTTP',
  mesh: 'Mesh',
  resp: 'RESP',
};

export function OverviewView({ data }: { readonly data: OverviewData }) {
  const failing = data.checks.filter(({ ok }) => !ok);
  const remarks = data.checks.filter(({ ok, reason }) => ok && reason !== undefined);
  const badPeers = data.peers.filter(({ state }) => state !== 'connected');
  const problemsCount = failing.length + remarks.length + badPeers.length;
  const tone: Tone = failing.length > 0 ? 'bad' : problemsCount > 0 ? 'warn' : 'good';
  return (
    <>
      <section class={`hero hero-${tone}`} aria-label="Health">
        <div class="hero-mark">
          <Mark tone={tone} />
        </div>
        <div>
          <p class="hero-title">{heroTitle(data, problemsCount)}</p>
          {problemsCount > 0 && (
            <ul class="problems">
              {failing.map(({ name, reason, isFatal }) => (
                <li key={name}>
                  <Badge tone="bad">{name}</Badge> {reason ?? 'not ready'}
                  {isFatal && ' A restart is required.'}
                </li>
              ))}
              {badPeers.map((peer) => (
                <li key={peer.nodeId}>
                  <Badge tone={peerTone(peer)}>
                    node {peer.nodeId} {peer.state}
                  </Badge>{' '}
                  <Age atMs={peer.sinceMs} />
                  {peer.lastError !== undefined && `: ${peer.lastError}`}
                </li>
              ))}
              {remarks.map(({ name, reason }) => (
                <li key={name}>
                  <Badge tone="warn">{name}</Badge> {reason}
                </li>
              ))}
            </ul>
          )}
        </div>
      </section>
      <div class="cards">
        {data.slices.map((slice) => (
          <SliceCard key={slice.name} slice={slice} />
        ))}
      </div>
      <div class="columns">
        <Card title="This node">
          <Facts
            items={[
              ['Node', data.nodeId],
              ['Cluster', data.clusterId],
              ['Version', `${data.version} on Node ${data.nodeVersion.replace(/^v/, '')}`],
              ['Up', <>{formatDuration(data.uptimeMs)} </>],
              ['Data', data.dataDir ?? 'in memory, lost on exit'],
              ...data.listeners.map(
                ({ listener, host, port }) =>
                  [LISTENERS[listener] ?? listener, `${host}:${port}`] as const,
              ),
            ]}
          />
        </Card>
        <Card title="Peers">
          {data.peers.length === 0 ? (
            <Empty title="This node has no peers">
              <p>
                <code>syncline dev -n 3</code> starts a cluster on this machine.
              </p>
            </Empty>
          ) : (
            <PeersTable peers={data.peers} />
          )}
        </Card>
      </div>
      {data.limitsReached.length > 0 && (
        <Card title="Limits reached">
          <div class="scroll-x">
            <table class="stack">
              <thead>
                <tr>
                  <th>Limit</th>
                  <th class="number">Times</th>
                  <th>Last</th>
                </tr>
              </thead>
              <tbody>
                {data.limitsReached.map(({ package: owner, limit, count, lastMs }) => (
                  <tr key={`${owner}/${limit}`}>
                    <td data-label="Limit">
                      {owner} <b>{limit}</b>
                    </td>
                    <td data-label="Times" class="number">
                      {formatCount(count)}
                    </td>
                    <td data-label="Last">
                      <Age atMs={lastMs} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Card>
      )}
    </>
  );
}

function heroTitle({ nodeId, isReady }: OverviewData, problemsCount: number): string {
  if (!isReady) return `Node ${nodeId} is not ready`;
  if (problemsCount === 0) return `Node ${nodeId} is ready`;
  return `Node ${nodeId} is ready, with ${problemsCount === 1 ? 'one warning' : `${problemsCount} warnings`}`;
}

const TITLES: Readonly<Record<string, string>> = {
  fair: 'Fair throttling',
  jobs: 'Jobs',
  sets: 'Sets',
  streams: 'Streams',
};

function SliceCard({ slice }: { readonly slice: SliceData }) {
  const [main] = slice.rates;
  const tone: Tone =
    slice.health.kind === 'ready' ? 'good' : slice.health.kind === 'failed' ? 'bad' : 'warn';
  const facts = factsOf(slice);
  return (
    <a class="card slice" href={`/${slice.name}`}>
      <header class="card-head">
        <h2>{TITLES[slice.name] ?? slice.name}</h2>
        <Badge tone={tone}>{slice.health.kind.replace('-', ' ')}</Badge>
      </header>
      {main === undefined ? (
        <p class="big">
          {facts[0]?.[1] ?? ''} <small>{facts[0]?.[0] ?? ''}</small>
        </p>
      ) : (
        <div class="slice-rate">
          <p class="big">
            {formatShort(main.perSecond)} <small>{main.name}/s</small>
          </p>
          <Sparkline values={main.history} label={`${main.name} per second`} />
        </div>
      )}
      <p class="slice-facts">
        {facts.slice(main === undefined ? 1 : 0).map(([label, value]) => (
          <span key={label}>
            <b>{value}</b> {label}
          </span>
        ))}
      </p>
    </a>
  );
}

/** The most important figures of a slice, in order of importance. */
function factsOf({ name, details }: SliceData): readonly (readonly [string, string])[] {
  const number = (key: string) => {
    const value = details[key];
    return typeof value === 'number' ? value : 0;
  };
  const count = (label: string, key: string) =>
    [number(key) === 1 ? label.replace(/s$/, '') : label, formatShort(number(key))] as const;
  switch (name) {
    case 'fair':
      return [count('trackers', 'trackers'), count('streams', 'streams')];
    case 'jobs':
      return [count('jobs', 'jobs'), count('subscribers', 'subscribers')];
    case 'sets':
      return [
        count('sets', 'sets'),
        count('elements', 'elements'),
        ['in memory', formatBytes(number('memoryBytes'))],
      ];
    case 'streams':
      return [count('pipelines', 'pipelines')];
    default:
      return [];
  }
}

export function peerTone({ state }: PeerData): Tone {
  switch (state) {
    case 'connected':
      return 'good';
    case 'behind':
      return 'warn';
    case 'connecting':
      return 'busy';
    case 'down':
      return 'bad';
  }
}

function PeersTable({ peers }: { readonly peers: readonly PeerData[] }) {
  return (
    <div class="scroll-x">
      <table class="stack">
        <thead>
          <tr>
            <th>Node</th>
            <th>State</th>
            <th class="number">Lag</th>
            <th>Since</th>
          </tr>
        </thead>
        <tbody>
          {peers.map((peer) => (
            <tr key={peer.nodeId}>
              <td data-label="Node">
                <span>
                  <b>node {peer.nodeId}</b>
                  <span class="address">{peer.address}</span>
                </span>
              </td>
              <td data-label="State">
                <Badge tone={peerTone(peer)}>{peer.state}</Badge>
              </td>
              <td data-label="Lag" class="number">
                {formatLag(peer.lagOperations, peer.lagMs)}
              </td>
              <td data-label="Since">
                <Age atMs={peer.sinceMs} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
