// Reports the progress of a pipeline to a Syncline server, whose dashboard shows it.
//
// A run never waits for it. One request is in flight at a time; while it is, only the newest report of each slot is
// kept.
import { createHttpReports, type OptionNames, refuseUnknownOptions } from '@syncline/kernel';
import type { PipelineProgress, ProgressReporter } from './run/progress.js';

export interface ServerProgressOptions {
  /** The HTTP address of any node, for example `http://127.0.0.1:7400`. */
  readonly url: string;
  /** The server's bearer token, if it has one. Beyond loopback it is sent over TLS only. */
  readonly token?: string;
  /** Called when a report fails: the server is unreachable or rejects it. Default: a warning for the first failure. */
  readonly onError?: (error: Error) => void;
}

const OPTIONS: OptionNames<ServerProgressOptions> = { url: true, token: true, onError: true };

/** A reporter for `start(pipeline, { progress })`. */
export function serverProgress(options: ServerProgressOptions): ProgressReporter {
  refuseUnknownOptions(options, 'serverProgress', OPTIONS);
  const reports = createHttpReports(options, '@syncline/streams: could not report progress');
  const waiting = new Map<number, PipelineProgress>(); // by slot
  let isSending = false;

  async function sendAll(): Promise<void> {
    isSending = true;
    for (const [slot, progress] of waiting) {
      waiting.delete(slot);
      await reports.put(`api/streams/${encodeURIComponent(progress.pipeline)}`, progress);
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
