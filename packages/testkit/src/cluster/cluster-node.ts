// One node of a cluster of real processes: `syncline serve` with a data directory of its own.
//
// Its ports are fixed before the first start, so that peers can name them and addresses stay valid across crashes.
import { setTimeout as afterMs } from 'node:timers/promises';
import { type Address, formatAddress } from '@syncline/kernel';
import { LISTENER_NAMES, type ListenerName, parseListenerLine } from './listener-line.js';
import { describeExit, type ProcessExit, type RunningProcess } from './running-process.js';
import { startProcess } from './start-process.js';

export type NodePorts = Readonly<Record<ListenerName, number>>;

export interface ClusterNodeOptions {
  readonly id: number;
  /** JavaScript that Node runs. */
  readonly program: string;
  /** The directory of the whole cluster: removed if this process dies before the node. */
  readonly directory: string;
  readonly dataDir: string;
  readonly ports: NodePorts;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** How long a start may take without any progress. */
  readonly readyTimeoutMs: number;
}

/** How often the readiness of a node is polled. */
const READY_POLL_MS = 25;

export class ClusterNode {
  readonly id: number;
  readonly dataDir: string;
  readonly #options: ClusterNodeOptions;
  readonly #addresses = new Map<ListenerName, Address>();
  #process: RunningProcess | undefined;
  #isEndExpected = false;

  constructor(options: ClusterNodeOptions) {
    this.id = options.id;
    this.dataDir = options.dataDir;
    this.#options = options;
  }

  get pid(): number {
    return this.#started().pid;
  }

  /** Where a listener accepts. Throws when the node has not opened it. */
  address(listener: ListenerName): Address {
    const address = this.#addresses.get(listener);
    if (!address) throw new Error(`node ${this.id} has no ${listener} listener\n${this.tail()}`);
    return address;
  }

  /** `http://127.0.0.1:7400`, `127.0.0.1:7401` for gRPC and mesh, `redis://127.0.0.1:7402`. */
  url(listener: ListenerName): string {
    const schemes = { http: 'http://', grpc: '', resp: 'redis://', mesh: '' };
    return schemes[listener] + formatAddress(this.address(listener));
  }

  /** Resolves when the node reports that it is ready; throws with its last output if it does not. */
  async start(): Promise<void> {
    const { id, program, directory, dataDir, args, env, readyTimeoutMs } = this.#options;
    const ports = LISTENER_NAMES.flatMap((name) => [
      `--${name}-port`,
      String(this.#options.ports[name]),
    ]);
    const common = ['serve', '--node-id', String(id), '--data-dir', dataDir, ...ports];
    const started = await startProcess({
      name: `node ${id}`,
      command: process.execPath,
      args: [program, ...common, ...args],
      env,
      directory,
    });
    this.#isEndExpected = false;
    this.#process = started;
    this.#addresses.clear();
    started.stdout.onLine((line) => this.#note(line));
    await this.#whenReady(started, readyTimeoutMs);
  }

  /** Stops it cleanly if it still runs, and restarts it with the same data and ports. */
  async restart(): Promise<void> {
    if (!this.#started().exit) await this.stop();
    await this.start();
  }

  /** Sends a signal and does not wait: SIGSTOP, SIGCONT. */
  signal(signal: NodeJS.Signals): void {
    this.#started().signal(signal);
  }

  /** Ends it and waits until it is gone. Default SIGKILL. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<ProcessExit> {
    this.#isEndExpected = true;
    return await this.#started().kill(signal);
  }

  /** SIGTERM. Throws when it takes longer than the grace period or exits with a code other than 0. */
  async stop(graceMs?: number): Promise<void> {
    this.#isEndExpected = true;
    const exit = await this.#started().stop(graceMs);
    if (exit.code !== 0) throw this.#error(`stopped with ${describeExit(exit)}`);
  }

  /** The last output, for error messages. */
  tail(): string {
    return this.#process?.tail() ?? `node ${this.id} was not started`;
  }

  /** Kills it. Throws if it had already ended by itself: something went wrong unnoticed. */
  async dispose(): Promise<void> {
    const exit = await this.#process?.kill();
    const isOurDoing = this.#isEndExpected || exit?.signal === 'SIGKILL';
    if (exit && !isOurDoing) throw this.#error(`had ended with ${describeExit(exit)}`);
  }

  /** On a busy machine a start takes long: the timeout applies to the time without any change in the node's answers. */
  async #whenReady(started: RunningProcess, timeoutMs: number): Promise<void> {
    const isHttp = (line: string) =>
      parseListenerLine(line)?.listener === 'http' ? true : undefined;
    await started.waitForLine(isHttp, timeoutMs);
    let deadlineMs = performance.now() + timeoutMs;
    for (let said = 'no answer'; said !== 'ready'; ) {
      if (started.exit)
        throw this.#error(`ended (${describeExit(started.exit)}) before it was ready`);
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0) throw this.#error(`is not ready: ${said}`);
      const answer = await askWhetherReady(`${this.url('http')}/readyz`, Math.ceil(leftMs));
      if (answer !== undefined && answer !== said) {
        said = answer;
        deadlineMs = performance.now() + timeoutMs;
      }
      if (said !== 'ready') await afterMs(READY_POLL_MS);
    }
  }

  #note(line: string): void {
    const found = parseListenerLine(line);
    if (found) this.#addresses.set(found.listener, found.address);
  }

  #started(): RunningProcess {
    if (!this.#process) throw this.#error('was not started');
    return this.#process;
  }

  #error(what: string): Error {
    return new Error(`node ${this.id} ${what}\n${this.tail()}`);
  }
}

/** `ready`, or why not; undefined without an answer. */
async function askWhetherReady(url: string, timeoutMs: number): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    const body = await response.text();
    return response.ok ? 'ready' : `${response.status} ${body}`;
  } catch {
    return undefined;
  }
}
