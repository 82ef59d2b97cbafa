// A process that adds members to a set at a given rate until it is stopped. It is separate so that it does not delay
// the clients that measure.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { pathToFileURL } from 'node:url';
import { atPace } from './pace.js';

const PIPELINE = 16;
const CONNECTIONS = 8;
/** The minimum fraction of the requested rate; below it the figures would be for a different load. */
const PACE_MIN = 0.9;

export interface PacedWriter extends AsyncDisposable {
  /** Throws if the server has accepted much less than the requested rate since the start. */
  checkPace(): Promise<void>;
}

export async function startPacedWriter(port: number, perSecond: number): Promise<PacedWriter> {
  const child = fork(import.meta.filename, [String(port), String(perSecond)]);
  await once(child, 'message'); // it is connected
  const startMs = performance.now();
  return {
    async checkPace() {
      child.send('count');
      const [answered] = (await once(child, 'message')) as [number];
      const reached = (answered * 1_000) / (performance.now() - startMs);
      if (reached >= perSecond * PACE_MIN) return;
      const [got, wanted] = [reached, perSecond].map(Math.round);
      throw new Error(`the load reached ${got} commands/s, not ${wanted}`);
    },
    async [Symbol.asyncDispose]() {
      const exit = once(child, 'exit');
      child.kill();
      await exit;
    },
  };
}

async function write(port: number, perSecond: number): Promise<void> {
  let answered = 0;
  const sockets = Array.from({ length: CONNECTIONS }, () => connect(port, '127.0.0.1'));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) {
    // Each reply is a line, `:1`.
    socket.on('data', (chunk) => {
      for (const byte of chunk) if (byte === 0x0a) answered += 1;
    });
  }
  process.on('message', () => process.send?.(answered));
  process.send?.('connected');
  const pace = { perSecond: perSecond / PIPELINE, count: Number.POSITIVE_INFINITY };
  await atPace(pace, (index) => addMembers(sockets[index % CONNECTIONS] as Socket, index));
}

function addMembers(socket: Socket, index: number): void {
  const adds = Array.from({ length: PIPELINE }, (_, at) => {
    const member = `element:${String(index * PIPELINE + at).padStart(12, '0')}`;
    return `*3\r\n$4\r\nSADD\r\n$4\r\nload\r\n$${member.length}\r\n${member}\r\n`;
  });
  socket.write(adds.join(''));
}

const [, program = '', port, perSecond] = process.argv;
if (pathToFileURL(program).href === import.meta.url) await write(Number(port), Number(perSecond));
