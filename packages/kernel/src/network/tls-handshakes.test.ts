import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { TlsHandshakes } from './tls-handshakes.js';

/** A socket with a peer address but no peer. */
function socketOf(remotePort: number): Socket {
  return Object.defineProperties(new Socket(), {
    remoteAddress: { value: '127.0.0.1' },
    remotePort: { value: remotePort },
  });
}

it('gives each TLS stream the TCP socket of its peer, once', () => {
  const handshakes = new TlsHandshakes(1_000);
  const [first, second] = [socketOf(1), socketOf(2)];
  handshakes.begin(first);
  handshakes.begin(second);
  expect(handshakes.finish(socketOf(2))).toBe(second);
  expect(handshakes.finish(socketOf(1))).toBe(first);
  expect(handshakes.finish(socketOf(1))).toBeUndefined();
});

it('K69 a peer that has disconnected causes no failure', () => {
  const handshakes = new TlsHandshakes(1_000);
  const left = new Socket();
  handshakes.begin(left);
  expect(left.destroyed).toBe(true);
  expect(handshakes.finish(new Socket())).toBeUndefined();
});
