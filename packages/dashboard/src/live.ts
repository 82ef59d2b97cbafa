// The single event stream of this page: opened for the view on screen, and reopened automatically when it is lost.
//
//   connecting ─▶ live ─▶ lost ─▶ live …       denied: a token is needed       refused: the view does not exist
//
// While it is lost, the last data stays on screen, with its time. A stream that has been silent for SILENCE_MS is
// considered lost even if the connection is still open: the server sends something every second.
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ReceivedEvent, readEvents } from './event-reader.js';
import { request, ServerProblem, storedToken } from './server.js';

const SILENCE_MS = 6_000;
const RETRY_MS = [250, 500, 1_000, 2_000, 3_000, 5_000] as const;

export interface Connection {
  readonly phase: 'connecting' | 'live' | 'lost' | 'denied' | 'refused';
  /** When it was lost, by the clock of this machine. */
  readonly lostAtMs: number;
  readonly attempts: number;
  readonly problem: string;
  /** When the last event arrived; 0 before the first of this view. */
  readonly receivedAtMs: number;
  /** The server's clock at that time. */
  readonly serverAtMs: number;
  /** A token was sent, and it was wrong. */
  readonly isTokenWrong: boolean;
}

/** Builds the data of a view from the parts and deltas that the server sends, and when it sent them. */
export interface DataBuilder<T> {
  /** Called when all parts have arrived. */
  whole(parts: readonly unknown[], serverAtMs: number): T;
  delta(data: T, delta: unknown, serverAtMs: number): T;
}

/** For views whose data is always sent as a single part. */
export const snapshotBuilder: DataBuilder<unknown> = {
  whole: ([body]) => body,
  delta: (data) => data,
};

const START: Connection = {
  phase: 'connecting',
  lostAtMs: 0,
  attempts: 0,
  problem: '',
  receivedAtMs: 0,
  serverAtMs: 0,
  isTokenWrong: false,
};

export interface Live {
  readonly connection: Connection;
  /** Undefined until the complete data of this view has arrived. */
  readonly data: unknown;
  retry(): void;
}

/**
 * While `place` stays the same, the last data is kept until the data of a new query arrives, so that typing in a
 * search field is not interrupted.
 */
export function useLive(
  query: string | undefined,
  place: string,
  builder: DataBuilder<unknown>,
): Live {
  const [state, setState] = useState({ connection: START, data: undefined as unknown, place });
  const stream = useRef<LiveStream>(undefined);
  useEffect(() => {
    if (query === undefined) return;
    const opened = new LiveStream(query, builder, (connection, data) =>
      setState((before) => ({
        connection,
        data: data ?? (before.place === place ? before.data : undefined),
        place,
      })),
    );
    stream.current = opened;
    return () => opened.close();
  }, [query, place, builder]);
  const isOld = state.place !== place;
  return {
    connection: state.connection,
    data: isOld ? undefined : state.data,
    retry: () => stream.current?.retryNow(),
  };
}

class LiveStream {
  readonly #query: string;
  readonly #builder: DataBuilder<unknown>;
  readonly #publish: (connection: Connection, data: unknown) => void;
  #connection = START;
  #data: unknown;
  #parts: unknown[] = [];
  #abort = new AbortController();
  #retry: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(
    query: string,
    builder: DataBuilder<unknown>,
    publish: (connection: Connection, data: unknown) => void,
  ) {
    this.#query = query;
    this.#builder = builder;
    this.#publish = publish;
    void this.#run();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#silence);
    this.#abort.abort();
  }

  retryNow(): void {
    clearTimeout(this.#retry);
    this.#abort.abort();
    this.#set({ ...this.#connection, problem: '' });
    void this.#run();
  }

  async #run(): Promise<void> {
    const abort = new AbortController();
    this.#abort = abort;
    this.#parts = [];
    try {
      this.#expectMore(abort);
      const response = await request(`/api/live${this.#query}`, { signal: abort.signal });
      if (response.body === null) throw new TypeError('the response has no body');
      await readEvents(response.body, (event) => {
        if (abort.signal.aborted) return;
        this.#expectMore(abort);
        if (event !== undefined) this.#take(event);
      });
      throw new TypeError('the server closed the stream');
    } catch (thrown) {
      if (this.#isClosed || this.#abort !== abort) return;
      this.#fail(thrown, abort.signal.aborted);
    }
  }

  #expectMore(abort: AbortController): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => abort.abort(), SILENCE_MS);
  }

  #take({ event, data }: ReceivedEvent): void {
    const message = JSON.parse(data) as {
      readonly atMs: number;
      readonly index: number;
      readonly count: number;
      readonly body: unknown;
      readonly deltas: readonly unknown[];
    };
    if (event === 'part') {
      if (message.index === 0) this.#parts = [];
      this.#parts.push(message.body);
      if (message.index + 1 === message.count) {
        this.#data = this.#builder.whole(this.#parts, message.atMs);
        this.#parts = [];
      }
    } else if (event === 'delta') {
      for (const delta of message.deltas)
        this.#data = this.#builder.delta(this.#data, delta, message.atMs);
    } else return;
    this.#set({ ...START, phase: 'live', receivedAtMs: Date.now(), serverAtMs: message.atMs });
  }

  #fail(thrown: unknown, isSilent: boolean): void {
    clearTimeout(this.#silence);
    const before = this.#connection;
    if (thrown instanceof ServerProblem && thrown.status === 401) {
      this.#set({ ...before, phase: 'denied', isTokenWrong: storedToken() !== '' });
      return;
    }
    const isRefused = thrown instanceof ServerProblem && [400, 404].includes(thrown.status);
    const attempts = before.attempts + 1;
    this.#set({
      ...before,
      phase: isRefused ? 'refused' : 'lost',
      lostAtMs: before.phase === 'lost' ? before.lostAtMs : Date.now(),
      attempts,
      problem: isSilent ? `no data for ${SILENCE_MS / 1_000} s` : problemOf(thrown),
    });
    const waitMs = RETRY_MS[Math.min(attempts, RETRY_MS.length) - 1] ?? 5_000;
    this.#retry = setTimeout(() => void this.#run(), waitMs);
  }

  #set(connection: Connection): void {
    this.#connection = connection;
    this.#publish(connection, this.#data);
  }
}

function problemOf(thrown: unknown): string {
  if (thrown instanceof ServerProblem) return thrown.message;
  if (!(thrown instanceof TypeError)) return String(thrown);
  return /fetch|network/i.test(thrown.message) ? 'the connection failed' : thrown.message;
}
