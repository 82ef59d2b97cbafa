// The gate in front of the Firestore emulator: it adds the isolation that the emulator lacks, and faults.
//
// The emulator commits whatever it is given: of 20 concurrent transactions that read one document and write it, all
// commit, and 19 updates are lost. The gate answers ABORTED when something that a transaction read has changed before
// its commit, as Firestore does. It runs in the same process, so that a read and its record are one step.
import { FirestoreState } from '@firestore-emulator/server';
import { FirestoreServiceV1Impl } from '@firestore-emulator/server/dist/server/FirestoreServiceV1Impl/index.js';
import { status, type UntypedServiceImplementation } from '@grpc/grpc-js';
import { type ListenRequest, ListenStream } from './listen-stream.js';
import { TransactionBook } from './transaction-book.js';

type Service = FirestoreServiceV1Impl;
type ReadCall = Parameters<Service['BatchGetDocuments']>[0];
type QueryCall = Parameters<Service['RunQuery']>[0];
type CountCall = Parameters<Service['RunAggregationQuery']>[0];
type CommitCall = Parameters<Service['Commit']>[0];
type CommitReply = Parameters<Service['Commit']>[1];
type BeginCall = Parameters<Service['BeginTransaction']>[0];
type BeginReply = Parameters<Service['BeginTransaction']>[1];
type RollbackCall = Parameters<Service['Rollback']>[0];
type RollbackReply = Parameters<Service['Rollback']>[1];
type ListenCall = Parameters<Service['Listen']>[0];

/** Firestore's message for a transaction that was already committed: the client recognizes it. */
const EXPIRED = 'The referenced transaction has expired or is no longer valid.';

export interface GateFaults {
  /** Every call and stream fails with UNAVAILABLE. */
  readonly isRefusing?: boolean;
  /** Streams stay open and carry nothing, like a connection that died unnoticed. */
  readonly isMute?: boolean;
  /** How long each call waits before it is handled; Infinity: until `letGo`. Default 0. */
  readonly delayMs?: number;
  /** Commits take effect and are answered with UNAVAILABLE. */
  readonly losesCommitReplies?: boolean;
  /** After this many more commits they fail with INTERNAL, which is not retried, and change nothing. */
  readonly commitsLeft?: number;
  /** Every call fails with this gRPC status. */
  readonly refusesWith?: status;
  /** Commits within a span of this many milliseconds get the same time, unless they change the same document. */
  readonly commitSpanMs?: number;
}

interface DocumentTimes {
  /** In microseconds, as Firestore counts. */
  readonly createdUs: number;
  readonly updatedUs: number;
}

export class FirestoreGate {
  readonly #state = new FirestoreState();
  readonly #service = new FirestoreServiceV1Impl(this.#state);
  readonly #book = new TransactionBook();
  readonly #streams = new Map<ListenCall, ListenStream>();
  readonly #times = new Map<string, DocumentTimes>();
  #lastCommitUs = 0;
  readonly #isIsolating: boolean;
  #faults: GateFaults = {};
  #commitsLeft = Number.POSITIVE_INFINITY;
  #aborted = 0;
  #sent = 0;
  readonly #delayed = new Set<() => void>();

  constructor(options: { readonly isIsolating: boolean }) {
    this.#isIsolating = options.isIsolating;
  }

  /** Commits that were refused because what they had read was outdated. */
  get abortedCount(): number {
    return this.#aborted;
  }

  get committedCount(): number {
    return this.#book.commitsCount;
  }

  get streamsCount(): number {
    return this.#streams.size;
  }

  /** Calls that wait because of `delayMs`. */
  get delayedCount(): number {
    return this.#delayed.size;
  }

  /** Ends the wait of those calls. */
  letGo(): void {
    for (const goOn of this.#delayed) goOn();
  }

  /** Messages to listeners. */
  get sentCount(): number {
    return this.#sent;
  }

  /** Replaces the current faults. A muted stream receives what it missed once it is unmuted. */
  setFaults(faults: GateFaults): void {
    this.#faults = faults;
    this.#commitsLeft = faults.commitsLeft ?? Number.POSITIVE_INFINITY;
    if (faults.isRefusing) this.cutStreams();
    this.#refreshStreams();
  }

  /** Ends every open stream with UNAVAILABLE. */
  cutStreams(): void {
    for (const call of this.#streams.keys()) call.emit('error', refusal('the stream was cut'));
    this.#streams.clear();
  }

  handlers(): UntypedServiceImplementation {
    return {
      BatchGetDocuments: this.#late(this.#batchGet),
      BeginTransaction: this.#late(this.#begin),
      Commit: this.#late(this.#commit),
      Rollback: this.#late(this.#rollback),
      RunQuery: this.#late(this.#runQuery),
      RunAggregationQuery: this.#late(this.#count),
      Listen: this.#listen,
    } as unknown as UntypedServiceImplementation;
  }

  #late<Arguments extends readonly unknown[]>(handle: (...given: Arguments) => void) {
    return (...given: Arguments): void => {
      const { delayMs = 0, refusesWith } = this.#faults;
      if (refusesWith !== undefined) refuse(given, refusesWith);
      else if (delayMs === 0) handle(...given);
      else {
        const goOn = () => {
          if (this.#delayed.delete(goOn)) handle(...given);
        };
        this.#delayed.add(goOn);
        if (Number.isFinite(delayMs)) setTimeout(goOn, delayMs);
      }
    };
  }

  readonly #batchGet = (call: ReadCall): void => {
    if (this.#faults.isRefusing) return void call.emit('error', refusal('reads are refused'));
    const { request } = call;
    const id = request.has_new_transaction ? this.#book.begin() : request.transaction;
    for (const path of request.documents) this.#book.noteRead(id, path);
    const write = (response: Parameters<ReadCall['write']>[0]) => {
      if (response.transaction.length > 0) response.transaction = id;
      if (response.has_found) this.#stamp(response.found);
      return call.write(response);
    };
    this.#service.BatchGetDocuments({ request, write, end: () => call.end() } as ReadCall);
  };

  readonly #runQuery = (call: QueryCall): void => {
    if (this.#faults.isRefusing) return void call.emit('error', refusal('queries are refused'));
    const { request } = call;
    const collection = request.structured_query.from[0]?.collection_id;
    this.#book.noteRead(request.transaction, `${request.parent}/${collection}`);
    const write = (response: Parameters<QueryCall['write']>[0]) => {
      if (response.has_document) this.#stamp(response.document);
      return call.write(response);
    };
    this.#service.RunQuery({ request, write, end: () => call.end() } as QueryCall);
  };

  readonly #count = (call: CountCall): void => {
    if (this.#faults.isRefusing) call.emit('error', refusal('queries are refused'));
    else this.#service.RunAggregationQuery(call);
  };

  readonly #begin = (call: BeginCall, reply: BeginReply): void => {
    if (this.#faults.isRefusing) return void reply(refusal('transactions are refused'));
    this.#service.BeginTransaction(call, (error, response) => {
      if (response) response.transaction = this.#book.begin();
      reply(error, response);
    });
  };

  readonly #rollback = (call: RollbackCall, reply: RollbackReply): void => {
    this.#book.end(call.request.transaction);
    this.#service.Rollback(call, reply);
  };

  readonly #commit = (call: CommitCall, reply: CommitReply): void => {
    const { transaction, writes } = call.request;
    if (this.#faults.isRefusing) return void reply(refusal('commits are refused'));
    if (this.#commitsLeft <= 0)
      return void reply({ code: status.INTERNAL, details: 'commits fail' });
    if (this.#book.isExpired(transaction))
      return void reply({ code: status.INVALID_ARGUMENT, details: EXPIRED });
    if (this.#isIsolating && this.#book.isOutdated(transaction)) {
      this.#aborted += 1;
      this.#book.end(transaction);
      return void reply({ code: status.ABORTED, details: 'a document was changed meanwhile' });
    }
    this.#commitsLeft -= 1;
    const paths = writes.map((write) => (write.has_delete ? write.delete : write.update.name));
    this.#service.Commit(call, (error, response) => {
      if (response) {
        this.#transformAll(writes, response.commit_time);
        this.#noteTimes(writes);
      }
      this.#book.noteCommit(paths);
      this.#book.end(transaction);
      setImmediate(() => this.#refreshStreams());
      if (this.#faults.losesCommitReplies) reply(refusal('the reply was lost'));
      else reply(error, response);
    });
  };

  /** The emulator sets the server time only in the first of a document's fields that ask for it. */
  #transformAll(writes: CommitCall['request']['writes'], at: { seconds: number; nanos: number }) {
    const date = new Date(at.seconds * 1_000 + at.nanos / 1_000_000);
    for (const { has_update: isUpdate, update, update_transforms: transforms } of writes) {
      const document = isUpdate ? this.#state.getDocument(update.name) : undefined;
      for (const transform of transforms.slice(1)) document?.v1Transform(date, [transform]);
    }
  }

  /**
   * The emulator counts in milliseconds; Firestore counts in microseconds, and gives each change of a document its
   * own time.
   */
  #noteTimes(writes: CommitCall['request']['writes']): void {
    const { commitSpanMs = 0 } = this.#faults;
    const nowUs = Date.now() * 1_000;
    let atUs = Math.max(nowUs, this.#lastCommitUs + 1);
    if (commitSpanMs > 0) {
      const shared = nowUs - (nowUs % (commitSpanMs * 1_000));
      const changedUs = writes.map(({ update }) => this.#times.get(update?.name)?.updatedUs ?? 0);
      atUs = Math.max(shared, ...changedUs.map((us) => us + 1));
    }
    this.#lastCommitUs = Math.max(this.#lastCommitUs, atUs);
    for (const write of writes) {
      if (write.has_delete) this.#times.delete(write.delete);
      else {
        const { name } = write.update;
        const createdUs = this.#times.get(name)?.createdUs ?? atUs;
        this.#times.set(name, { createdUs, updatedUs: atUs });
      }
    }
  }

  #stamp(document: StampedDocument): void {
    const times = this.#times.get(document.name);
    if (!times) return;
    setTime(document.create_time, times.createdUs);
    setTime(document.update_time, times.updatedUs);
  }

  readonly #listen = (call: ListenCall): void => {
    if (this.#faults.isRefusing) return void call.emit('error', refusal('streams are refused'));
    const { refusesWith } = this.#faults;
    if (refusesWith !== undefined) return void refuse([call], refusesWith);
    const forget = () => void this.#streams.delete(call);
    call.on('end', () => {
      forget();
      call.end();
    });
    call.on('cancelled', forget);
    call.on('error', forget);
    call.once('data', (request: ListenRequest) => {
      const send = (response: Parameters<ListenCall['write']>[0]) => {
        this.#sent += 1;
        if (response.has_document_change) this.#stamp(response.document_change.document);
        call.write(response);
      };
      const stream = new ListenStream({ state: this.#state, book: this.#book, send }, request);
      this.#streams.set(call, stream);
      if (!this.#faults.isMute) stream.open();
    });
  };

  #refreshStreams(): void {
    if (this.#faults.isMute) return;
    for (const stream of this.#streams.values()) stream.refresh();
  }
}

interface ProtoTime {
  seconds: number;
  nanos: number;
}

interface StampedDocument {
  readonly name: string;
  readonly create_time: ProtoTime;
  readonly update_time: ProtoTime;
}

function setTime(time: ProtoTime, us: number): void {
  time.seconds = Math.floor(us / 1_000_000);
  time.nanos = (us % 1_000_000) * 1_000;
}

/** Ends a streaming call with an error, and answers any other call with it. */
function refuse([call, reply]: readonly unknown[], code: status): void {
  const error = { code, details: 'calls are refused' };
  if (reply) (reply as BeginReply)(error);
  else (call as ReadCall).emit('error', error);
}

function refusal(details: string): { readonly code: status; readonly details: string } {
  return { code: status.UNAVAILABLE, details };
}
