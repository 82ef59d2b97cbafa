// Reports the progress of a pipeline to a Syncline server, whose dashboard shows it.
//
// A run never waits for it. One request is in flight at a time; while it is, only the newest report of each slot is
// kept.
import {
  createHttpReports,
  type HttpReportOptions,
  type OptionNames,
  refuseUnknownOptions,
} from '@syncline/kernel';
import type { PipelineProgress, ProgressReporter } from './run/progress.js';

export type ServerProgressOptions = HttpReportOptions;

const OPTIONS: OptionNames<ServerProgressOptions> = {
  url: true,
  token: true,
  tls: true,
  onError: true,
};

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
