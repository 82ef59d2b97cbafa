// `syncline fair top`: the trackers of a running server, the most throttled callers and the hottest cells. On a
// terminal the table is redrawn every second; elsewhere it is printed once.
import { createSystemClock, SynclineError } from '@syncline/kernel';
import type { Command } from 'commander';
import type { CliWorld } from '../cli-world.js';
import { addExamples } from '../examples.js';
import { paintFor } from '../paint.js';
import { printableJson } from '../printable.js';
import { boundlessScreen, screenOf } from '../screen.js';
import { listenForStop } from '../serve/stop-request.js';
import { fetchStatus } from '../status/fetch-status.js';
import {
  addTargetOptions,
  type StatusTarget,
  type StatusTargetOptions,
  statusTarget,
} from '../status/status-target.js';
import { fetchFairFacts, type TopQuery } from './top-facts.js';
import { isUnused, renderOutage, renderTop } from './top-table.js';

interface TopOptions extends StatusTargetOptions {
  readonly tracker?: string;
  readonly limit?: string;
  readonly json?: true;
}

const LIMIT_BY_DEFAULT = 20;
const LIMIT_MAX = 1_000;
const INTERVAL_MS = 1_000;
const CLEAR = '\u001b[H\u001b[2J';

const LIVE = '\nOn a terminal it refreshes every second until Ctrl-C; otherwise it prints once.';

export function addTopCommand(fair: Command, world: CliWorld): void {
  const command = fair
    .command('top')
    .description('Show the most throttled callers and the hottest cells of a running server');
  addExamples(command, [
    ['syncline fair top', 'all trackers of the local server'],
    ['syncline fair top --tracker api --limit 5', 'one tracker, at most five rows'],
    ['syncline fair top --json', 'for scripts, one object per line'],
  ]);
  command
    .option('--tracker <name>', 'Show only this tracker')
    .option('--limit <count>', `Rows to show per table (${LIMIT_BY_DEFAULT})`);
  addTargetOptions(command)
    .option('--json', 'Print JSON, one object per line')
    .addHelpText('after', LIVE)
    .action((options: TopOptions) => top(world, options));
}

async function top(world: CliWorld, options: TopOptions): Promise<void> {
  const { stdout, environment } = world;
  const query = { tracker: options.tracker, limit: limitOf(options.limit) };
  const target = statusTarget(options, environment);
  const paint = paintFor(stdout, environment);
  const isLive = stdout.isTTY === true && options.json === undefined;
  const view = () => ({
    limit: query.limit,
    paint,
    screen: isLive ? screenOf(stdout) : boundlessScreen,
    ...(isLive ? { hint: 'Ctrl-C to quit' } : {}),
  });
  const draw = async () => {
    const facts = await fetchFairFacts(target, query);
    if (options.json) return `${printableJson(facts, 0)}\n`;
    return renderTop(facts, {
      ...view(),
      remote: isUnused(facts) ? await remoteOf(target) : undefined,
    });
  };
  stdout.write(await draw());
  if (stdout.isTTY !== true) return;
  const outage = (ageMs: number, message: string) => renderOutage(ageMs, message, view());
  await redraw(world, { clear: isLive ? CLEAR : '', draw, outage });
}

/** Trackers connect over gRPC, and we over HTTP: only the port differs. */
async function remoteOf(target: StatusTarget): Promise<string | undefined> {
  const { url, ca, token } = target;
  const { listeners } = await fetchStatus(target);
  const grpc = listeners.find(({ listener }) => listener === 'grpc');
  if (grpc === undefined) return undefined;
  const parts = [
    `address: '${url.hostname}:${grpc.port}'`,
    "tracker: 'api'",
    ...(url.protocol === 'https:' ? [ca === undefined ? 'tls: true' : 'tls: { ca }'] : []),
    ...(token === undefined ? [] : ['token']),
  ];
  return `grpcRemote({ ${parts.join(', ')} })`;
}

interface Drawing {
  readonly clear: string;
  draw(): Promise<string>;
  outage(ageMs: number, message: string): string;
}

/** Redraws until a signal. If the server is unreachable, it says so and keeps trying. */
async function redraw(world: CliWorld, { clear, draw, outage }: Drawing): Promise<void> {
  const clock = createSystemClock();
  const stopping = new AbortController();
  void listenForStop(world).then(() => stopping.abort());
  let lastGoodMs = clock.monotonicMs();
  for (;;) {
    await clock.sleep(INTERVAL_MS, stopping.signal).catch(() => undefined);
    if (stopping.signal.aborted) return;
    try {
      world.stdout.write(`${clear}${await draw()}`);
      lastGoodMs = clock.monotonicMs();
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      const text = outage(clock.monotonicMs() - lastGoodMs, thrown.message);
      world.stderr.write(`${clear}${text}`);
    }
  }
}

function limitOf(given: string | undefined): TopQuery['limit'] {
  if (given === undefined) return LIMIT_BY_DEFAULT;
  const limit = /^\d{1,4}$/.test(given) ? Number(given) : 0;
  if (limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw new SynclineError(
    'invalid-argument',
    `--limit is ${JSON.stringify(given)}; expected an integer from 1 to ${LIMIT_MAX}.`,
  );
}
