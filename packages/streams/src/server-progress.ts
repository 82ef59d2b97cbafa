// Reports the progress of a pipeline to a Syncline server, whose dashboard shows it.
//
// A run never waits for it. One request is in flight at a time; while it is, only the newest report of each slot is
// kept. A report that fails is dropped, because the next one follows within a second.
import type { PipelineProgress, ProgressReporter } from './run/progress.js';

const TIMEOUT_MS = 5_000;

export interface ServerProgressOptions {
  /** The HTTP address of any node, for example `http://127.0.0.1:7400`. */
  readonly url: string;
  /** The server's bearer token, if it has one. */
  readonly token?: string;
  /** Called when a report fails: the server is unreachable or rejects it. By default, errors are ignored. */
  readonly onError?: (error: Error) => void;
}

/** A reporter for `start(pipeline, { progress })`. */
export function serverProgress(options: ServerProgressOptions): ProgressReporter {
  const { url, token, onError = () => undefined } = options;
  const base = new URL('api/streams/', url.endsWith('/') ? url : `${url}/`);
  const waiting = new Map<number, PipelineProgress>(); // by slot
  let isSending = false;

  async function send(progress: PipelineProgress): Promise<void> {
    const reply = await fetch(new URL(encodeURIComponent(progress.pipeline), base), {
      method: 'PUT',
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(progress),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${base.origin} answered ${reply.status}: ${text}`);
  }

  async function sendAll(): Promise<void> {
    isSending = true;
    for (const [slot, progress] of waiting) {
      waiting.delete(slot);
      try {
        await send(progress);
      } catch (thrown) {
        onError(thrown instanceof Error ? thrown : new Error(String(thrown)));
      }
    }
    isSending = false;
  }

  return {
    report(progress) {
      waiting.set(progress.slot, progress);
      if (!isSending) void sendAll();
    },
  };
}
