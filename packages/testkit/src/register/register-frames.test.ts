import type { Connection } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { encodeFrame, type Frame, readFrames } from './register-frames.js';

const frames: readonly Frame[] = [
  { kind: 'replicate', node: 'n1' },
  { kind: 'have', counter: 7 },
  { kind: 'add', client: 'c1', request: 1, amount: 5 },
  { kind: 'added' },
];
const whole = Buffer.concat(frames.map((frame) => encodeFrame(frame)));

/** What is read when `pieces` are written one by one and the connection is ended. */
function readBack(pieces: readonly Uint8Array[]): Promise<Frame[]> {
  return runInSimulation(1, async ({ network, clock }) => {
    const writePieces = async (connection: Connection) => {
      for (const piece of pieces) {
        connection.write(piece);
        await clock.sleep(1);
      }
      connection.end();
    };
    const listener = await network.listen({ host: 'test', port: 0 }, (accepted) => {
      void writePieces(accepted);
    });
    const connection = await network.connect(listener.address);
    const read: Frame[] = [];
    for await (const frame of readFrames(connection)) read.push(frame);
    return read;
  });
}

test('frames are read whole, byte by byte and cut at every place', async () => {
  expect(await readBack([whole])).toEqual(frames);
  expect(await readBack([...whole].map((byte) => new Uint8Array([byte])))).toEqual(frames);
  for (let cut = 1; cut < whole.length; cut += 1) {
    expect(await readBack([whole.subarray(0, cut), whole.subarray(cut)])).toEqual(frames);
  }
});

test('an end within a frame and an announced length beyond the limit are refused', async () => {
  await expect(readBack([whole.subarray(0, whole.length - 1)])).rejects.toThrow(/within a frame/);
  const header = Buffer.alloc(4);
  header.writeUInt32BE(64 * 1024 + 1);
  await expect(readBack([header])).rejects.toThrow(/65537 bytes/);
});
