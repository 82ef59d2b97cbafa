// SetStates: many writes over one stream, each with a number under which it is answered.
//
// A write and its answer are the messages of SetState. Here they stay bytes, so that one of them that is malformed
// spoils no other, and so that whoever knows its job can read it.
import type { GrpcFailure } from '@syncline/protocol';
import { type Label, labelList, labelMessage, labelsOf } from './job-messages.js';
import { decode, encode, list, message, text, uint } from './proto-message.js';
import { ProtoReader } from './proto-reader.js';
import { ProtoWriter } from './proto-writer.js';

export interface NumberedWrite {
  readonly number: number;
  /** A SetStateRequest. */
  readonly write: Uint8Array;
}

export interface NumberedAnswer {
  readonly number: number;
  readonly answer:
    | { readonly kind: 'done' /** A SetStateResponse. */; readonly response: Uint8Array }
    | { readonly kind: 'failed'; readonly failure: GrpcFailure };
}

export interface AnswersMessage {
  readonly answers: readonly NumberedAnswer[];
  /** Why the server ends the stream. */
  readonly end?: GrpcFailure;
}

const ITEMS = 1;
const END = 2;
const NUMBER = 1;
const BODY = 2;
const FAILURE = 3;

/** What the envelope of an item takes beside its body, at most. */
export const ENVELOPE_BYTES = 24;

/** What the smallest write counts: a server that holds it has more of it than its bytes. */
export const WINDOW_BYTES_MIN = 128;

/** What a write takes of the window, on both sides. */
export function windowBytesOf({ length }: Uint8Array): number {
  return Math.max(WINDOW_BYTES_MIN, length + ENVELOPE_BYTES);
}

const writer = new ProtoWriter();

export function encodeWrites(writes: readonly NumberedWrite[]): Uint8Array {
  writer.clear();
  for (const { number, write } of writes) {
    const item = writer.begin(ITEMS);
    writer.uint(NUMBER, number);
    writer.message(BODY, write);
    writer.end(item);
  }
  return writer.copy();
}

export function decodeWrites(bytes: Uint8Array): readonly NumberedWrite[] {
  const writes: NumberedWrite[] = [];
  const reader = new ProtoReader('SetStatesRequest', bytes);
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === ITEMS) writes.push(readWithin(reader, readWrite));
    else reader.skip();
  }
  return writes;
}

function readWrite(reader: ProtoReader): NumberedWrite {
  let number = 0;
  let write: Uint8Array = NOTHING;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === NUMBER) number = reader.uint();
    else if (field === BODY) write = reader.message();
    else reader.skip();
  }
  return { number, write };
}

const NOTHING = new Uint8Array();

export function encodeAnswers({ answers, end }: AnswersMessage): Uint8Array {
  writer.clear();
  for (const { number, answer } of answers) {
    const item = writer.begin(ITEMS);
    writer.uint(NUMBER, number);
    if (answer.kind === 'done') writer.message(BODY, answer.response);
    else writer.message(FAILURE, encodeFailure(answer.failure));
    writer.end(item);
  }
  if (end !== undefined) writer.message(END, encodeFailure(end));
  return writer.copy();
}

export function decodeAnswers(bytes: Uint8Array): AnswersMessage {
  const answers: NumberedAnswer[] = [];
  let end: GrpcFailure | undefined;
  const reader = new ProtoReader('SetStatesResponse', bytes);
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === ITEMS) answers.push(readWithin(reader, readAnswer));
    else if (field === END) end = readFailure(reader);
    else reader.skip();
  }
  return end === undefined ? { answers } : { answers, end };
}

function readAnswer(reader: ProtoReader): NumberedAnswer {
  let number = 0;
  let answer: NumberedAnswer['answer'] | undefined;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === NUMBER) number = reader.uint();
    else if (field === BODY) answer = { kind: 'done', response: reader.message() };
    else if (field === FAILURE) answer = { kind: 'failed', failure: readFailure(reader) };
    else reader.skip();
  }
  return { number, answer: answer ?? reader.fail('an answer is neither done nor a failure') };
}

function readWithin<Item>(reader: ProtoReader, readItem: (reader: ProtoReader) => Item): Item {
  const outerEnd = reader.enter();
  const item = readItem(reader);
  reader.leave(outerEnd);
  return item;
}

interface RawFailure {
  readonly code: number;
  readonly message: string;
  readonly metadata: readonly Label[];
}

const failureMessage = message<RawFailure>({
  code: uint(1),
  message: text(2),
  metadata: list(3, labelMessage),
});

function encodeFailure({ code, details, metadata }: GrpcFailure): Uint8Array {
  return encode(failureMessage, { code, message: details, metadata: labelList(metadata) });
}

function readFailure(reader: ProtoReader): GrpcFailure {
  const name = 'Failure';
  const { code, message: details, metadata } = decode(failureMessage, reader.message(), { name });
  return { code, details, metadata: labelsOf(metadata) };
}
