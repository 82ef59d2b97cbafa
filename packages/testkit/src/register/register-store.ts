// The durable side of a register node: group commit around the pure core.
//
// Inputs that come while a commit is in flight make up the next one. The core decides about them on a
// copy of the state; the copy becomes the state when the batch is on the disk, and only then is anybody
// answered. If the disk is full, nothing has happened. If a sync fails, nobody can tell, so the process
// ends and finds out at its next start.
import { type Storage, StorageBatch, SynclineError } from '@syncline/kernel';
import type { SimPorts } from '@syncline/kernel/testing';
import {
  type Decision,
  decide,
  emptyRegister,
  type RegisterCoreOptions,
  type RegisterInput,
  type RegisterState,
  type Update,
} from './register-core.js';
import {
  decodeState,
  decodeUpdate,
  encodeState,
  encodeUpdate,
  logKey,
  logRange,
  STATE_KEY,
} from './register-records.js';

interface WaitingInput {
  readonly input: RegisterInput;
  readonly resolve: (outcome: Decision['outcome']) => void;
  readonly reject: (error: SynclineError) => void;
}

/** Inputs that wait for a commit; one more is refused. */
const WAITING_MAX = 256;

export class RegisterStore {
  readonly #ports: SimPorts;
  readonly #storage: Storage;
  readonly #options: RegisterCoreOptions;
  #state: RegisterState;
  readonly #waiting: WaitingInput[] = [];
  #isCommitting = false;
  readonly #onCommit: (() => void)[] = [];

  private constructor(ports: SimPorts, storage: Storage, options: RegisterCoreOptions) {
    this.#ports = ports;
    this.#storage = storage;
    this.#options = options;
    this.#state = decodeState(storage.get(STATE_KEY)) ?? emptyRegister;
  }

  static async open(ports: SimPorts, options: RegisterCoreOptions): Promise<RegisterStore> {
    return new RegisterStore(ports, await ports.openStorage('register'), options);
  }

  /** As durable as what was answered. */
  get state(): RegisterState {
    return this.#state;
  }

  /** Resolves when the input's effect is durable. `overloaded` or `storage-full`: nothing happened. */
  submit(input: RegisterInput): Promise<Decision['outcome']> {
    if (this.#waiting.length >= WAITING_MAX) {
      return Promise.reject(new SynclineError('overloaded', 'too many inputs wait for a commit'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject });
      if (!this.#isCommitting) void this.#commitAll();
    });
  }

  /** What this register has of a node's updates after `counter`, in order. */
  async *updatesAfter(node: string, counter: number): AsyncGenerator<Update> {
    await this.#storage.whenReadable();
    for await (const batch of this.#storage.range(logRange(node, counter)).batches()) {
      for (const { value } of batch) yield decodeUpdate(value);
    }
  }

  /** Resolves after the next commit. */
  nextCommit(): Promise<void> {
    return new Promise((resolve) => this.#onCommit.push(resolve));
  }

  async #commitAll(): Promise<void> {
    this.#isCommitting = true;
    while (this.#waiting.length > 0) {
      const isSmall = this.#ports.chaos.buggify('register/small-commit');
      await this.#commit(this.#waiting.splice(0, isSmall ? 1 : WAITING_MAX));
    }
    this.#isCommitting = false;
  }

  async #commit(group: readonly WaitingInput[]): Promise<void> {
    let state = this.#state;
    const batch = new StorageBatch();
    const decisions = group.map(({ input }) => {
      const decision = decide(state, input, this.#options);
      state = decision.state;
      const { update } = decision;
      if (update !== undefined) batch.put(logKey(update), encodeUpdate(update));
      return decision;
    });
    if (state !== this.#state) {
      const error = await this.#write(batch.put(STATE_KEY, encodeState(state)));
      if (error !== undefined) {
        for (const { reject } of group) reject(error);
        return;
      }
    }
    this.#state = state;
    for (const [index, { resolve }] of group.entries()) {
      resolve(decisions[index]?.outcome ?? 'early');
    }
    for (const wake of this.#onCommit.splice(0)) wake();
  }

  /** Returns why nothing was written. */
  async #write(batch: StorageBatch): Promise<SynclineError | undefined> {
    const isEarly = this.#options.bug === 'acknowledge-before-sync';
    try {
      await this.#storage.write(batch, { durability: isEarly ? 'buffered' : 'synced' });
      return undefined;
    } catch (thrown) {
      const error = SynclineError.from(thrown, 'storage-failed');
      if (error.code === 'storage-failed') this.#ports.exit(error.message);
      if (error.code === 'storage-full') this.#ports.chaos.probe('register/disk-full');
      return error;
    }
  }
}
