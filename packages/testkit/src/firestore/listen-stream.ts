// One stream of changes to a client that listens to a collection.
//
// The emulator sends the whole collection again for each single write anywhere, and no token to resume from, so
// that the client would wait longer after each cut. We ask it for the collection once per commit, and pass on
// what changed; after a cut, or when something was deleted, the client has to reset its state.
import type { FirestoreState } from '@firestore-emulator/server';
import type { TransactionBook } from './transaction-book.js';

export type ListenRequest = Parameters<FirestoreState['v1Listen']>[0];
type ListenResponse = Parameters<Parameters<FirestoreState['v1Listen']>[1]>[0];

const CURRENT = 3;
const RESET = 4;

export interface ListenStreamDeps {
  readonly state: FirestoreState;
  readonly book: TransactionBook;
  readonly send: (response: ListenResponse) => void;
}

export class ListenStream {
  readonly #deps: ListenStreamDeps;
  readonly #request: ListenRequest;
  readonly #collection: string;
  #sent = new Set<string>();
  #sentAt = 0;

  constructor(deps: ListenStreamDeps, request: ListenRequest) {
    this.#deps = deps;
    this.#request = request;
    const { parent, structured_query: query } = request.add_target.query;
    this.#collection = `${parent}/${query.from[0]?.collection_id}`;
  }

  open(): void {
    const [added] = this.#read();
    if (added) this.#deps.send(added);
    this.#send(true);
  }

  /** Sends what was committed since the last time, if anything was. */
  refresh(): void {
    if (this.#deps.book.changedAt(this.#collection) > this.#sentAt) this.#send(false);
  }

  #send(isFirst: boolean): void {
    const [first, ...others] = this.#read();
    const names = new Set(others.flatMap((message) => nameOf(message) ?? []));
    const isReset = isFirst || [...this.#sent].some((name) => !names.has(name));
    if (isReset && first) {
      first.target_change.target_change_type = RESET;
      this.#deps.send(first);
    }
    for (const message of others) {
      const name = nameOf(message);
      const isKnown = name !== undefined && this.#deps.book.changedAt(name) <= this.#sentAt;
      if (!isReset && isKnown) continue;
      if (message.has_target_change && message.target_change.target_change_type === CURRENT)
        message.target_change.resume_token = Buffer.from(String(this.#deps.book.commitsCount));
      this.#deps.send(message);
    }
    this.#sent = names;
    this.#sentAt = this.#deps.book.commitsCount;
  }

  /** `ADD`, the documents, `CURRENT` and `NO_CHANGE`: the emulator sends them at once, then listens; we stop that. */
  #read(): ListenResponse[] {
    const messages: ListenResponse[] = [];
    this.#deps.state.v1Listen(
      this.#request,
      (message) => messages.push(message),
      (stopListening) => stopListening(),
    );
    return messages;
  }
}

function nameOf(message: ListenResponse): string | undefined {
  return message.has_document_change ? message.document_change.document.name : undefined;
}
