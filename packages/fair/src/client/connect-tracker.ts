// Puts the parts of a client together for a tracker with a remote.
import type { FairTrackerDeps } from '../fair-tracker.js';
import { hexOf } from '../flow-key.js';
import { keyCheckOf } from '../key-hash.js';
import type { RemoteSettings, TrackerSettings } from '../tracker-options.js';
import { WIRE_HASH, WIRE_POLICY, type WireTrackerConfig } from '../wire/sync-messages.js';
import { ClientMetrics } from './client-status.js';
import { NamedExchange } from './named-exchange.js';
import { SeedExchange } from './seed-exchange.js';
import type { SharedView } from './shared-view.js';
import { StateClient } from './state-client.js';

const CLIENT_ID_BYTES = 16;
/** A server of the original contract may send nothing for an empty state. */
const SEED_SILENCE_MS = 1_000;

/** A client that is not started yet. */
export function connectTracker(
  deps: FairTrackerDeps,
  view: SharedView,
  settings: TrackerSettings,
  shared: RemoteSettings,
): StateClient {
  const { clock, random, logger } = deps;
  const { remote, flushIntervalMs, retryBudgetMs, outageGain, gainAfterMs } = shared;
  const metrics = new ClientMetrics(deps.metrics, settings.label);
  const exchangeDeps = { view, clock, metrics };
  const clientId = hexOf(random.bytes(CLIENT_ID_BYTES));
  const config = wireConfigOf(settings, shared);
  const exchange =
    remote.wire === 'seed'
      ? new SeedExchange(exchangeDeps)
      : new NamedExchange(exchangeDeps, { tracker: remote.tracker, clientId, config });
  const transport = remote.createTransport(deps);
  return new StateClient(
    {
      clock,
      random,
      logger: logger.child({ tracker: settings.label }),
      metrics,
      transport,
      view,
      exchange,
    },
    {
      windowMs: settings.windowMs,
      flushIntervalMs,
      retryBudgetMs,
      silenceMs: remote.wire === 'seed' ? SEED_SILENCE_MS : undefined,
      gain: {
        isEnabled: outageGain,
        afterMs: gainAfterMs,
        increment: settings.shape.increment,
      },
    },
  );
}

function wireConfigOf(settings: TrackerSettings, shared: RemoteSettings): WireTrackerConfig {
  const { shape, decay, windowMs } = settings;
  return {
    ...shape,
    policy: WIRE_POLICY[decay.policy],
    ratePerSecond: decay.ratePerSecond,
    windowMs,
    hash: WIRE_HASH[shared.hashName],
    keyCheck: keyCheckOf(shared.secret),
  };
}
