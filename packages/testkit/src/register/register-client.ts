// A client of the register. It asks until it is answered, always with the same request number, so that
// an addition whose answer was lost is not added twice.
import { type Connection, SynclineError } from '@syncline/kernel';
import type { SimPorts } from '@syncline/kernel/testing';
import { expectBroken } from './peer-sender.js';
import { encodeFrame, type Frame, type FrameStream, readFrames } from './register-frames.js';
import type { RegisterHistory } from './register-history.js';

export interface RegisterClientOptions {
  /** The node that this client talks to. */
  readonly host: string;
  readonly port: number;
  readonly operations: number;
}

interface OpenSession {
  readonly connection: Connection;
  readonly frames: FrameStream;
}

const ANSWER_TIMEOUT_MS = 2_000;
const THINK_MS_MAX = 1_500;
const RETRY_MS_MAX = 300;
const READ_PROBABILITY = 0.3;

export class RegisterClient {
  readonly #ports: SimPorts;
  readonly #history: RegisterHistory;
  readonly #options: RegisterClientOptions;
  #session: OpenSession | undefined;
  #lastRequest = 0;

  constructor(
    deps: { readonly ports: SimPorts; readonly history: RegisterHistory },
    options: RegisterClientOptions,
  ) {
    this.#ports = deps.ports;
    this.#history = deps.history;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { clock, random } = this.#ports;
    for (let count = 0; count < this.#options.operations; count += 1) {
      await clock.sleep(THINK_MS_MAX * random.float());
      if (random.float() < READ_PROBABILITY) await this.#read();
      else await this.#add();
    }
    this.#session?.connection.destroy();
  }

  async #add(): Promise<void> {
    const client = this.#ports.nodeName;
    this.#lastRequest += 1;
    const request = this.#lastRequest;
    const amount = 1 + Math.floor(this.#ports.random.float() * 100);
    this.#history.attempted({ client, request, amount });
    await this.#ask({ kind: 'add', client, request, amount }, 'added');
    this.#history.acknowledged({ client, request, amount });
  }

  async #read(): Promise<void> {
    const client = this.#ports.nodeName;
    const value = await this.#ask({ kind: 'read', client }, 'value');
    this.#history.read({ client, acknowledgedRequest: this.#lastRequest, ...value });
  }

  async #ask<Kind extends Frame['kind']>(
    question: Frame,
    kind: Kind,
  ): Promise<Extract<Frame, { kind: Kind }>> {
    for (;;) {
      const answer = await this.#askOnce(question).catch(expectBroken);
      if (answer?.kind === kind) return answer as Extract<Frame, { kind: Kind }>;
      this.#ports.chaos.probe('register/asked-again');
      await this.#ports.clock.sleep(RETRY_MS_MAX * this.#ports.random.float());
    }
  }

  /** The session does not outlive an error: a late answer must not be taken for the next one. */
  async #askOnce(question: Frame): Promise<Frame> {
    this.#session ??= await this.#open();
    const { connection, frames } = this.#session;
    const timer = this.#ports.clock.setTimer(ANSWER_TIMEOUT_MS, () => connection.destroy());
    try {
      connection.write(encodeFrame(question));
      const { value: answer } = await frames.next();
      if (answer !== undefined) return answer;
      throw new SynclineError('unavailable', 'the node has ended the connection');
    } catch (error) {
      connection.destroy();
      this.#session = undefined;
      throw error;
    } finally {
      timer.cancel();
    }
  }

  async #open(): Promise<OpenSession> {
    const connection = await this.#ports.network.connect(this.#options);
    return { connection, frames: readFrames(connection) };
  }
}
