// Counts the connections of a listener and enforces their limit.
import { assert, type Logger, type Metrics } from '@syncline/kernel';
import type { TcpNetworkOptions } from '@syncline/kernel/node';
import type { LimitWatch } from './limit-watch.js';
import { serverLimits } from './limits.js';
import type { ListenerName } from './listener.js';
import type { ServerMetricName } from './metrics-list.js';

export type CutReason = 'idle' | 'stalled' | 'session' | 'drain' | 'failed';

export interface ConnectionCountDeps {
  readonly logger: Logger;
  readonly metrics: Metrics<ServerMetricName>;
  readonly limits: LimitWatch;
}

export class ConnectionCount {
  readonly #deps: ConnectionCountDeps;
  readonly #listener: ListenerName;
  readonly connectionsMax: number;
  #open = 0;

  constructor(
    deps: ConnectionCountDeps,
    options: { readonly listener: ListenerName; readonly connectionsMax: number },
  ) {
    this.#deps = deps;
    this.#listener = options.listener;
    this.connectionsMax = options.connectionsMax;
    const limit = { value: options.connectionsMax };
    deps.limits.declare('server', { [`${options.listener}ConnectionsMax`]: limit });
    this.#show();
  }

  /**
   * Returns false if the limit is reached: the caller refuses the connection and must not call `closed` for it.
   * Otherwise the connection holds a slot, and `accepted` or (in the TLS handshake) `failed` follows.
   */
  opened(): boolean {
    if (this.#open >= this.connectionsMax) {
      this.refused();
      return false;
    }
    this.#open += 1;
    this.#show();
    return true;
  }

  accepted(): void {
    this.#count('accepted');
  }

  /** Anyone can cause this at any rate, so it is only logged at debug level. */
  failed(reason: string): void {
    this.#count('failed');
    this.#deps.logger.debug('connection failed', { listener: this.#listener, reason });
  }

  closed(): void {
    assert(this.#open > 0, 'a connection is closed once');
    this.#open -= 1;
    this.#show();
  }

  /** Lets the network accept a few connections above the limit, to send them an error, and counts its refusals. */
  networkOptions(): Pick<TcpNetworkOptions, 'connectionsMax' | 'onRefused'> {
    return {
      connectionsMax: this.connectionsMax + serverLimits.refusalsAtOnceMax.value,
      onRefused: ({ reason, error }) => {
        if (reason === 'connections-max') this.refused();
        else this.failed(error?.message ?? reason);
      },
    };
  }

  /** Refused because of its address, however many connections are open. */
  blocked(): void {
    this.#count('refused');
  }

  refused(): void {
    this.#count('refused');
    this.#deps.limits.reached('server', `${this.#listener}ConnectionsMax`);
  }

  /** Closed at the limit, because a new connection needs its place. */
  evicted(): void {
    this.cut('idle');
    this.#deps.limits.reached('server', `${this.#listener}ConnectionsMax`);
  }

  cut(reason: CutReason): void {
    const labels = { listener: this.#listener, reason };
    this.#deps.metrics.add('syncline_server_connections_cut_total', 1, labels);
  }

  #count(result: 'accepted' | 'refused' | 'failed'): void {
    const labels = { listener: this.#listener, result };
    this.#deps.metrics.add('syncline_server_connections_total', 1, labels);
  }

  #show(): void {
    this.#deps.metrics.set('syncline_server_connections', this.#open, {
      listener: this.#listener,
    });
  }
}
