// One connection to the events of a job. It ends when the server ends it, when nothing comes for too long,
// or when the signal fires.
import { SynclineError } from '@syncline/kernel';
import { cliLimits } from '../limits.js';
import { parseJson, readAnswer, refusalOf, sendRequest } from '../status/server-request.js';
import type { StatusTarget } from '../status/status-target.js';
import { unreachableError } from '../status/unreachable-error.js';
import { EventParser, type StreamItem } from './event-parser.js';

export interface EventStreamOptions {
  readonly path: string;
  /** Resumes behind this one. */
  readonly lastEventId: string | undefined;
  readonly signal: AbortSignal;
}

/** Throws a refusal as the error that the server gave, and a lost connection as `unavailable`. */
export async function* openEventStream(
  target: StatusTarget,
  { path, lastEventId, signal }: EventStreamOptions,
): AsyncGenerator<readonly StreamItem[]> {
  const cut = new AbortController();
  const stop = () => cut.abort();
  signal.addEventListener('abort', stop, { once: true });
  const silence = setTimeout(stop, cliLimits.streamSilenceMs.value);
  try {
    const response = await sendRequest(target, {
      method: 'GET',
      path,
      headers: {
        accept: 'text/event-stream',
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
      signal: cut.signal,
    });
    const { statusCode = 0, headers } = response;
    if (statusCode !== 200 || headers['content-type']?.startsWith('text/event-stream') !== true) {
      throw refusalOf(
        target,
        statusCode,
        parseJson(await readAnswer(response, cliLimits.answerBytesMax.value)),
      );
    }
    const parser = new EventParser();
    response.setEncoding('utf8');
    for await (const text of response as AsyncIterable<string>) {
      silence.refresh();
      yield parser.feed(text);
    }
  } catch (thrown) {
    if (thrown instanceof SynclineError) throw thrown;
    throw unreachableError(target, thrown as Error);
  } finally {
    clearTimeout(silence);
    signal.removeEventListener('abort', stop);
    cut.abort();
  }
}
