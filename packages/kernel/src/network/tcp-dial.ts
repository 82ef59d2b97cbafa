// Opening a connection, the same for TCP and TLS: waits for one event of a socket, until a deadline or a
// signal, and cleans up if it does not arrive.
import { connect, type Socket } from 'node:net';
import { abortedError, type SynclineError } from '../error.js';
import { formatAddress } from './address.js';
import type { Address } from './network.js';
import { connectError, connectTimeoutError } from './network-error.js';
import { socketOptions } from './tcp-listen.js';
import type { TcpSettings } from './tcp-settings.js';

/** One attempt, whose steps share a deadline (`performance.now()`) and a signal. */
export interface Dial {
  readonly address: Address;
  readonly settings: TcpSettings;
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
}

export interface Opening<Opened> {
  readonly socket: Socket;
  readonly event: 'connect' | 'secureConnect';
  /** Called in the same turn as the event, so that the next event of the socket is not missed. */
  opened(): Opened;
  /** Turns a socket error into the error that the caller gets. */
  failed(error: Error): SynclineError;
}

/** Waits for the TCP connection, and resolves with the result of `opened`. */
export function dialTcp<Opened>(dial: Dial, opened: (socket: Socket) => Opened): Promise<Opened> {
  const { address, settings } = dial;
  const socket = connect({ ...address, ...socketOptions(settings) });
  const failed = (error: Error) => connectError(address, error);
  return whenOpen({ socket, event: 'connect', opened: () => opened(socket), failed }, dial);
}

export function whenOpen<Opened>(opening: Opening<Opened>, dial: Dial): Promise<Opened> {
  const { socket, event, opened, failed } = opening;
  const { address, settings, deadlineMs, signal } = dial;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(expire, Math.max(0, deadlineMs - performance.now()));
    signal?.addEventListener('abort', abort);
    socket.once(event, succeed).on('error', fail).once('close', close);
    if (signal?.aborted) abort.call(signal);

    function stopWaiting(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      socket.off(event, succeed).off('close', close);
    }
    function succeed(): void {
      stopWaiting();
      resolve(opened());
      socket.off('error', fail); // only now that another listener is attached
    }
    // Here `fail` stays attached: nothing else handles later errors.
    function giveUp(error: SynclineError): void {
      stopWaiting();
      socket.destroy();
      reject(error);
    }
    function fail(error: Error): void {
      giveUp(failed(error));
    }
    function close(): void {
      giveUp(failed(new Error('the connection closed before it was established')));
    }
    function expire(): void {
      giveUp(connectTimeoutError(address, settings.connectTimeoutMs));
    }
    function abort(this: AbortSignal): void {
      giveUp(abortedError(`connecting to ${formatAddress(address)}`, this));
    }
  });
}
