// A toy slice for tests: echoes its input on every listener, and fails or waits on demand.
import type {
  ServerDuplexStream,
  ServerUnaryCall,
  ServerWritableStream,
  sendUnaryData,
} from '@grpc/grpc-js';
import {
  isErrorCode,
  type MetricDefinitions,
  type Storage,
  StorageBatch,
  SynclineError,
} from '@syncline/kernel';
import type { HttpReply, HttpRoute, ServerSentEvent } from '../http/http-route.js';
import type { RunningSlice, Slice, SliceDeps, SliceHealth } from '../slice.js';
import { ECHO_SERVICE, type Echo, echoDefinition, echoDescriptors } from './echo-service.js';
import { createEchoSession } from './echo-session.js';

export interface EchoSliceOptions {
  readonly name?: string;
  readonly listeners?: Slice['listeners'];
  readonly startError?: Error;
  /** Stops only when this resolves, whatever the signal says. */
  readonly stopWhen?: Promise<void>;
  /** Opens no store. */
  readonly storeless?: boolean;
}

/** A slice and its controls for a test. */
export class EchoSlice implements Slice {
  readonly name: string;
  readonly listeners: Slice['listeners'];
  readonly metrics: MetricDefinitions;
  readonly limits = {
    wordsMax: { value: 7, unit: 'entries', why: 'A toy limit.' },
  } as const;
  readonly journal: string[] = [];
  health: SliceHealth = { kind: 'ready' };
  deps: SliceDeps | undefined;
  /** How often a slice was started on this store, as recorded in the store. */
  startsCount = 0;
  readonly #options: EchoSliceOptions;
  readonly #said: `syncline_${string}`;
  #waiting: (() => void)[] = [];

  constructor(options: EchoSliceOptions = {}) {
    this.#options = options;
    this.name = options.name ?? 'echo';
    this.#said = `syncline_${this.name}_said_total`;
    this.metrics = { [this.#said]: { kind: 'counter', help: 'Answers.' } };
    this.listeners = options.listeners ?? ['grpc', 'resp'];
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Releases all callers of `wait`. */
  release(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting = [];
  }

  async start(deps: SliceDeps): Promise<RunningSlice> {
    this.deps = deps;
    this.journal.push('start');
    const storage = this.#options.storeless === true ? undefined : await deps.openStorage();
    if (storage !== undefined) await this.#countStart(storage);
    if (this.#options.startError) throw this.#options.startError;
    deps.draining.addEventListener('abort', () => this.journal.push('draining'));
    const all = {
      grpc: [
        {
          name: ECHO_SERVICE,
          definition: echoDefinition,
          implementation: this.#grpc(),
          fileDescriptors: echoDescriptors,
        },
      ],
      resp: { connect: () => createEchoSession(() => this.#wait()) },
    };
    const used = Object.fromEntries(this.listeners.map((name) => [name, all[name]]));
    return {
      ...used,
      http: this.#routes(),
      status: () => ({ health: this.health, details: { waiting: this.waitingCount } }),
      stop: async (signal) => {
        this.journal.push(signal.aborted ? 'stop late' : 'stop');
        await this.#options.stopWhen;
      },
    };
  }

  async #countStart(storage: Storage): Promise<void> {
    const key = new TextEncoder().encode('starts');
    this.startsCount = (storage.get(key)?.[0] ?? 0) + 1;
    const batch = new StorageBatch().put(key, new Uint8Array([this.startsCount]));
    await storage.write(batch, { durability: 'buffered' });
  }

  async #say(text: string): Promise<string> {
    this.deps?.metrics.add(this.#said);
    if (text === 'wait') await this.#wait();
    if (text === 'bug') throw new TypeError('secret insides');
    if (isErrorCode(text)) throw new SynclineError(text, `you asked for ${text}`);
    return text;
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #grpc() {
    return {
      say: async (call: ServerUnaryCall<Echo, Echo>, callback: sendUnaryData<Echo>) => {
        callback(null, { text: await this.#say(call.request.text) });
      },
      repeat: async (call: ServerWritableStream<Echo, Echo>) => {
        const text = await this.#say(call.request.text);
        call.write({ text });
        if (text === 'forever') return;
        if (text === 'until drained')
          this.deps?.draining.addEventListener('abort', () => call.end());
        else call.end();
      },
      chat: (call: ServerDuplexStream<Echo, Echo>) => {
        call.on('data', (echo: Echo) => call.write(echo));
        call.on('end', () => call.end());
      },
    };
  }

  #routes(): readonly HttpRoute[] {
    return [
      { method: 'GET', path: '', handle: () => ({ kind: 'json', body: { slice: this.name } }) },
      {
        method: 'GET',
        path: '/say/:text',
        handle: async ({ params: { text = '' } }): Promise<HttpReply> => ({
          kind: 'json',
          body: { text: await this.#say(text) },
        }),
      },
      {
        method: 'POST',
        path: '/say',
        handle: ({ body }) => ({ kind: 'json', body: { body }, status: 201 }),
      },
      { method: 'DELETE', path: '/say', handle: () => ({ kind: 'empty' }) },
      {
        method: 'GET',
        path: '/events',
        handle: ({ headers, signal }) => ({
          kind: 'events',
          events: this.#events(String(headers['last-event-id'] ?? ''), signal),
        }),
      },
    ];
  }

  async *#events(after: string, signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
    signal.addEventListener('abort', () => this.journal.push('client gone'));
    yield { event: 'hello', id: `${after}1`, data: { after } };
    if (after === 'bug') throw new TypeError('secret insides');
    for (;;) {
      await this.#wait();
      yield { event: 'tick', data: { line: 'one\ntwo' } };
    }
  }
}
