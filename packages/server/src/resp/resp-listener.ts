// The RESP listener: connections, limits and draining. The sessions implement the protocol.
import type { Address, Clock, Connection, Logger } from '@syncline/kernel';
import type { GuessBudget } from '../auth/guess-budget.js';
import { ConnectionCount, type ConnectionCountDeps } from '../connection-count.js';
import { ConnectionSet } from '../connection-set.js';
import { reportBug } from '../handler-bug.js';
import { IdleLimitedConnection } from '../idle-limit.js';
import { serverLimits } from '../limits.js';
import type { ServerListener } from '../listener.js';
import type { CreateNetwork } from '../server-context.js';
import { RespConnection } from './resp-connection.js';
import type { RespSessions } from './resp-session.js';

export interface RespListenerDeps extends ConnectionCountDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly createNetwork: CreateNetwork;
  readonly sessions: RespSessions;
  readonly guesses: GuessBudget;
}

export interface RespListenerOptions {
  readonly address: Address;
  readonly connectionsMax: number;
  /** 0 disables the timeout. */
  readonly idleTimeoutMs: number;
}

/** The same message as in Redis, which clients recognize. */
const TOO_MANY = new TextEncoder().encode('-ERR max number of clients reached\r\n');

export async function openRespListener(
  deps: RespListenerDeps,
  options: RespListenerOptions,
): Promise<ServerListener> {
  const { connectionsMax, address } = options;
  const count = new ConnectionCount(deps, { listener: 'resp', connectionsMax });
  const clients = new RespClients(deps, options, count);
  const network = deps.createNetwork(count.networkOptions());
  const listener = await network.listen(address, (connection) => clients.accept(connection));
  const drain = async (signal: AbortSignal): Promise<void> => {
    await listener.close();
    await clients.drain(signal);
  };
  return {
    address: { listener: 'resp', host: address.host, port: listener.address.port },
    drain,
    close: drain,
  };
}

class RespClients {
  readonly #deps: RespListenerDeps;
  readonly #options: RespListenerOptions;
  readonly #count: ConnectionCount;
  readonly #connections: ConnectionSet;
  readonly #served = new Set<RespConnection>();

  constructor(deps: RespListenerDeps, options: RespListenerOptions, count: ConnectionCount) {
    this.#deps = deps;
    this.#options = options;
    this.#count = count;
    this.#connections = new ConnectionSet(count);
  }

  accept(connection: Connection): void {
    if (this.#deps.guesses.isBlocked(connection.remote.host)) {
      this.#count.blocked();
      return void connection.destroy();
    }
    if (this.#connections.add(connection)) void this.#serve(this.#limited(connection));
    else void this.#refuse(connection);
  }

  drain(signal: AbortSignal): Promise<void> {
    for (const client of this.#served) client.finish('draining');
    return this.#connections.emptied(signal);
  }

  async #serve(connection: Connection): Promise<void> {
    let client: RespConnection | undefined;
    try {
      client = this.#createClient(connection);
      this.#served.add(client);
      await client.serve();
    } catch (thrown) {
      this.#count.cut('failed');
      connection.destroy();
      reportBug(this.#deps.logger, thrown, { listener: 'resp' });
    } finally {
      if (client !== undefined) this.#served.delete(client);
    }
  }

  #createClient(connection: Connection): RespConnection {
    const { clock, guesses, sessions, limits } = this.#deps;
    const onCut = (reason: 'stalled' | 'session'): void => {
      this.#count.cut(reason);
      if (reason === 'stalled') limits.reached('server', 'respStallTimeoutMs');
    };
    return new RespConnection(
      { clock, connection, sessions },
      {
        lingerTimeoutMs: serverLimits.lingerTimeoutMs.value,
        stallTimeoutMs: serverLimits.respStallTimeoutMs.value,
        onCut,
        onWrongPassword: () => {
          const { host } = connection.remote;
          guesses.failed('resp', host);
          if (guesses.isBlocked(host)) this.#endSoon(connection);
        },
      },
    );
  }

  /** After the current reply has been written. */
  #endSoon(connection: Connection): void {
    this.#count.cut('session');
    this.#deps.clock.defer(() => connection.destroy());
  }

  /** Without an idle timeout, which is the default, the connection is not wrapped, to save overhead. */
  #limited(connection: Connection): Connection {
    const { idleTimeoutMs } = this.#options;
    if (idleTimeoutMs === 0) return connection;
    const onIdle = (): void => this.#count.cut('idle');
    return new IdleLimitedConnection(
      { connection, clock: this.#deps.clock },
      { idleTimeoutMs, onIdle },
    );
  }

  /** Replies with an error, then discards input: with unread bytes, closing would reset the connection. */
  async #refuse(connection: Connection): Promise<void> {
    connection.write(TOO_MANY);
    connection.end();
    const { value } = serverLimits.lingerTimeoutMs;
    const linger = this.#deps.clock.setTimer(value, () => connection.destroy());
    try {
      for await (const _ of connection.incoming);
    } catch {
      // The client has disconnected, which is fine.
    }
    linger.cancel();
    connection.destroy();
  }
}
