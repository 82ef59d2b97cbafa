// Server-sent events out of a stream of text, however it was cut.
//
// As the HTML standard has it, less what our server never sends: `retry`, and lines that end in a lone CR.
import { SynclineError } from '@syncline/kernel';
import { cliLimits } from '../limits.js';

export type StreamItem =
  /** The server is there, and has nothing to say. */
  { readonly kind: 'comment' } | { readonly kind: 'event'; readonly data: string };

export class EventParser {
  #rest = '';
  #data: string | undefined;

  /** What the text completes. The name and the id of an event stand in its data too. */
  feed(text: string): readonly StreamItem[] {
    const items: StreamItem[] = [];
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#take(line.endsWith('\r') ? line.slice(0, -1) : line, items);
    if (this.#rest.length + (this.#data?.length ?? 0) > cliLimits.eventBytesMax.value) {
      throw new SynclineError(
        'unavailable',
        'the server sent an event that is surely none of ours',
      );
    }
    return items;
  }

  #take(line: string, items: StreamItem[]): void {
    if (line === '') {
      if (this.#data !== undefined) items.push({ kind: 'event', data: this.#data });
      this.#data = undefined;
    } else if (line.startsWith(':')) {
      items.push({ kind: 'comment' });
    } else if (line.startsWith('data:')) {
      const value = line.slice(line.startsWith('data: ') ? 6 : 5);
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    }
  }
}
