// The shell of a register node: listens for clients and other nodes, and sends to the other nodes.
import { type Connection, SynclineError } from '@syncline/kernel';
import type { SimPorts } from '@syncline/kernel/testing';
import { expectBroken, PeerSender } from './peer-sender.js';
import type { PlantedBug } from './planted-bug.js';
import { encodeFrame, type Frame, type FrameStream, readFrames } from './register-frames.js';
import { RegisterStore } from './register-store.js';

export interface RegisterNodeOptions {
  readonly port: number;
  readonly peers: readonly string[];
  readonly bug: PlantedBug | undefined;
}

export class RegisterNode {
  readonly store: RegisterStore;
  readonly #ports: SimPorts;

  private constructor(ports: SimPorts, store: RegisterStore) {
    this.#ports = ports;
    this.store = store;
  }

  static async start(ports: SimPorts, options: RegisterNodeOptions): Promise<RegisterNode> {
    const { port, peers, bug } = options;
    const store = await RegisterStore.open(ports, { node: ports.nodeName, bug });
    const node = new RegisterNode(ports, store);
    await ports.network.listen({ host: ports.nodeName, port }, (connection) => {
      void node.#serve(connection);
    });
    for (const host of peers) void new PeerSender({ ports, store }, { host, port, bug }).run();
    return node;
  }

  async #serve(connection: Connection): Promise<void> {
    try {
      const frames = readFrames(connection);
      for await (const frame of frames) {
        if (frame.kind === 'replicate') await this.#receive(frame.node, frames, connection);
        else connection.write(encodeFrame(await this.#answer(frame)));
      }
    } catch (error) {
      expectBroken(error);
    }
    connection.destroy();
  }

  async #answer(frame: Frame): Promise<Frame> {
    const { state } = this.store;
    if (frame.kind === 'read') {
      const request = state.answered.get(frame.client) ?? 0;
      return { kind: 'value', total: state.total, request };
    }
    if (frame.kind !== 'add') return { kind: 'refused', code: 'invalid-argument' };
    try {
      const outcome = await this.store.submit(frame);
      if (outcome === 'duplicate') this.#ports.chaos.probe('register/repeated-request');
      return { kind: 'added' };
    } catch (error) {
      return { kind: 'refused', code: SynclineError.from(error).code };
    }
  }

  /** Takes the updates of another node. One that cannot be taken ends the session: it will come again. */
  async #receive(node: string, frames: FrameStream, connection: Connection): Promise<void> {
    const counter = this.store.state.applied.get(node) ?? 0;
    connection.write(encodeFrame({ kind: 'have', counter }));
    for await (const frame of frames) {
      if (frame.kind !== 'update') return;
      const outcome = await this.store.submit(frame);
      if (outcome === 'duplicate') this.#ports.chaos.probe('register/repeated-update');
      if (outcome === 'early') return;
    }
  }
}
