// Requests a part of each checkpoint from all workers and waits for every reply, over messages that may be lost,
// repeated or late. It knows nothing about threads and writes nothing: the caller stores the parts in one batch, which
// is the commit point, and then calls `committed`.
//
//   trigger(epoch) ─▶ ack(epoch, part) from each worker ─▶ committed(epoch)
//                     nack, or no reply in time         ─▶ abandoned: the whole group ends
//
// X63  A reply counts once, for the worker, epoch and generation that it was requested for; parts of an incomplete
//      epoch are never used. A wait is registered before its request is sent, has a deadline, and is always released.
import { type Clock, SynclineError, type Timer } from '@syncline/kernel';
import { errorOf, type FromWorker, type ToWorker, type WorkerPart } from './messages.js';

export interface CoordinatorDeps {
  readonly clock: Clock;
  readonly workers: number;
  readonly generation: number;
  readonly post: (worker: number, message: ToWorker) => void;
  readonly timeoutMs: number;
  /** Called when a worker cannot continue. */
  readonly onFailure: (error: Error) => void;
}

interface Wait {
  readonly kind: 'ready' | 'ack' | 'closed';
  readonly epoch: number;
  readonly answers: Map<number, WorkerPart | undefined>;
  readonly timer: Timer;
  resolve(answers: readonly (WorkerPart | undefined)[]): void;
  reject(error: Error): void;
}

export class Coordinator {
  readonly #deps: CoordinatorDeps;
  #wait: Wait | undefined;
  #failure: Error | undefined;
  #committed = 0;
  readonly #gone = new Set<number>();

  constructor(deps: CoordinatorDeps) {
    this.#deps = deps;
  }

  /** Resolves when every worker has started. */
  async open(request: (worker: number) => ToWorker): Promise<void> {
    await this.#ask('ready', 0, request);
  }

  /** Resolves to the parts of all workers, in worker order. */
  async trigger(epoch: number, isFinal: boolean): Promise<readonly WorkerPart[]> {
    const { generation } = this.#deps;
    const parts = await this.#ask('ack', epoch, () => ({
      generation,
      kind: 'trigger',
      epoch,
      isFinal,
    }));
    return parts as readonly WorkerPart[];
  }

  committed(epoch: number): void {
    this.#committed = epoch;
    this.#postAll(() => ({ generation: this.#deps.generation, kind: 'committed', epoch }));
  }

  /** Abandons the group. Resolves when all workers have ended, or after `patienceMs`. */
  async abandon(patienceMs: number): Promise<void> {
    const { generation } = this.#deps;
    this.giveUp(new SynclineError('closed', 'the workers were abandoned'));
    const ended = this.#ask('closed', 0, () => ({ generation, kind: 'abandoned' }), patienceMs);
    await ended.catch(() => undefined); // remaining workers are terminated by the caller
  }

  receive(worker: number, message: FromWorker): void {
    const { generation, post } = this.#deps;
    if (message.generation !== generation) {
      post(worker, { generation: message.generation, kind: 'abandoned' });
      return;
    }
    if (message.kind === 'nack') this.#lose(errorOf(message.error));
    else if (message.kind === 'closed') this.#leave(worker);
    else if (message.kind === 'ack') this.#receivePart(worker, message.epoch, message.part);
    else if (message.kind === this.#wait?.kind) this.#count(this.#wait, worker, undefined);
  }

  #receivePart(worker: number, epoch: number, part: WorkerPart): void {
    const { generation, post } = this.#deps;
    const wait = this.#wait;
    if (wait?.kind === 'ack' && wait.epoch === epoch) this.#count(wait, worker, part);
    else if (epoch <= this.#committed) post(worker, { generation, kind: 'committed', epoch });
  }

  #count(wait: Wait, worker: number, answer: WorkerPart | undefined): void {
    if (wait.answers.has(worker)) return;
    wait.answers.set(worker, answer);
    if (wait.answers.size < this.#deps.workers) return;
    this.#free(wait);
    wait.resolve(Array.from({ length: this.#deps.workers }, (_, index) => wait.answers.get(index)));
  }

  /** A worker is gone, so its reply will not arrive. */
  lost(worker: number, error: Error): void {
    this.#leave(worker);
    this.#lose(error);
  }

  #leave(worker: number): void {
    this.#gone.add(worker);
    if (this.#wait?.kind === 'closed') this.#count(this.#wait, worker, undefined);
  }

  #lose(error: Error): void {
    if (this.#failure !== undefined) return;
    this.giveUp(error);
    this.#deps.onFailure(error);
  }

  /** Rejects the current wait and all later ones. */
  giveUp(error: Error): void {
    this.#failure ??= error;
    const wait = this.#wait;
    if (wait === undefined) return;
    this.#free(wait);
    wait.reject(error);
  }

  #free(wait: Wait): void {
    wait.timer.cancel();
    this.#wait = undefined;
  }

  #ask(
    kind: Wait['kind'],
    epoch: number,
    request: (worker: number) => ToWorker,
    timeoutMs = this.#deps.timeoutMs,
  ): Promise<readonly (WorkerPart | undefined)[]> {
    if (this.#failure !== undefined && kind !== 'closed') return Promise.reject(this.#failure);
    const answered = new Promise<readonly (WorkerPart | undefined)[]>((resolve, reject) => {
      const timer = this.#deps.clock.setTimer(timeoutMs, () => this.#timeOut(timeoutMs));
      this.#wait = { kind, epoch, answers: new Map(), timer, resolve, reject };
    });
    this.#postAll(request);
    for (const worker of this.#gone) if (this.#wait) this.#count(this.#wait, worker, undefined);
    return answered;
  }

  #timeOut(timeoutMs: number): void {
    const wait = this.#wait;
    if (wait === undefined) return;
    const missing = Array.from({ length: this.#deps.workers }, (_, worker) => worker).filter(
      (worker) => !wait.answers.has(worker),
    );
    const what = wait.kind === 'ack' ? `its part of epoch ${wait.epoch}` : `"${wait.kind}"`;
    const error = new SynclineError(
      'timeout',
      `worker ${missing.join(', ')} did not send ${what} within ${timeoutMs} ms`,
      { details: { workers: missing, epoch: wait.epoch } },
    );
    if (this.#failure === undefined) this.#lose(error);
    else this.giveUp(error);
  }

  #postAll(request: (worker: number) => ToWorker): void {
    for (let worker = 0; worker < this.#deps.workers; worker += 1) {
      this.#deps.post(worker, request(worker));
    }
  }
}
