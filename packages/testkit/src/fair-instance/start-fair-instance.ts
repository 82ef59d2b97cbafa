// Starts a process with a tracker, with or without load, and queries it.
import { type ChildProgram, startChild } from '../child-program.js';
import type {
  InstanceOptions,
  InstanceRequest,
  InstanceStatus,
  InstanceView,
  LoadFigures,
} from './instance-lines.js';

export class FairInstance implements AsyncDisposable {
  readonly #child: ChildProgram;
  /** Answers arrive in the order of the requests. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(child: ChildProgram) {
    this.#child = child;
  }

  get pid(): number {
    return this.#child.pid;
  }

  status(): Promise<InstanceStatus> {
    return this.#ask({ ask: 'status' });
  }

  /** The tracker's current state of these keys. */
  peek(keys: readonly string[]): Promise<InstanceView> {
    return this.#ask({ ask: 'peek', keys });
  }

  /** Of the load since the last call. */
  figures(): Promise<LoadFigures> {
    return this.#ask({ ask: 'figures' });
  }

  async fail(key: string, times: number, cost = 1): Promise<void> {
    await this.#ask({ ask: 'fail', key, times, cost });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#child.kill();
  }

  #ask<T>(request: InstanceRequest): Promise<T> {
    const answered = this.#last.then(async () => {
      this.#child.send(JSON.stringify(request));
      const line = await this.#child.nextLine();
      if (line === undefined) throw new Error(`the instance ended: ${await this.#child.ended}`);
      return JSON.parse(line) as T;
    });
    this.#last = answered.catch(() => undefined);
    return answered;
  }
}

export function startFairInstance(options: InstanceOptions): FairInstance {
  return new FairInstance(startChild('fair-instance', JSON.stringify(options)));
}
