// Protobuf messages as tables: one line per field, with its name, number and type.
//
//   const live = message<Live>({ revision: uint(1) })
//
// A table both reads and writes. It costs a function call per field, which is negligible compared to a gRPC call. State
// messages, of which there can be 100,000 per second, have hand-written code.
import { WireReader, WireWriter } from '@syncline/kernel/wire';

export interface Message<Value> {
  write(writer: WireWriter, value: Value): void;
  read(reader: WireReader): Value;
}

export interface Field<Value> {
  readonly number: number;
  write(writer: WireWriter, value: Value): void;
  /** `before` is the value read so far: a field may occur several times. */
  read(reader: WireReader, name: string, before: Value | undefined): Value;
  /** The value if the sender omitted the field. Without this function, the value is omitted too. */
  absent?(reader: WireReader, name: string): Value;
}

type Fields<Value> = { readonly [Name in keyof Value]-?: Field<Exclude<Value[Name], undefined>> };

export function message<Value extends object>(fields: Fields<Value>): Message<Value> {
  const entries = Object.entries(fields) as [string, Field<unknown>][];
  const byNumber = new Map(entries.map(([name, field]) => [field.number, { name, field }]));
  return {
    write(writer, value) {
      const values = value as Readonly<Record<string, unknown>>;
      for (const [name, field] of entries)
        if (values[name] !== undefined) field.write(writer, values[name]);
    },
    read(reader) {
      const values: Record<string, unknown> = {};
      for (let number = reader.field(); number !== 0; number = reader.field()) {
        const known = byNumber.get(number);
        if (known === undefined) reader.skip();
        else values[known.name] = known.field.read(reader, known.name, values[known.name]);
      }
      for (const [name, { absent }] of entries)
        if (absent && values[name] === undefined) values[name] = absent(reader, name);
      return values as Value;
    },
  };
}

/** The same encoding for a different type. */
export function mapped<Value, Raw>(
  form: Message<Raw>,
  toRaw: (value: Value) => Raw,
  fromRaw: (raw: Raw) => Value,
): Message<Value> {
  return {
    write: (writer, value) => form.write(writer, toRaw(value)),
    read: (reader) => fromRaw(form.read(reader)),
  };
}

const writer = new WireWriter();

export function encode<Value>(form: Message<Value>, value: Value): Uint8Array {
  writer.clear();
  form.write(writer, value);
  return writer.copy();
}

/** Throws `invalid-argument` if the bytes are not a valid message. */
export function decode<Value>(
  form: Message<Value>,
  bytes: Uint8Array,
  { name }: { readonly name: string },
): Value {
  return form.read(new WireReader(name, bytes));
}

type Write<Value> = (out: WireWriter, value: Value) => void;
type Read<Value> = (reader: WireReader, name: string) => Value;

/** For required fields: a sender that omits one violates the contract. */
const missing = (reader: WireReader, name: string): never =>
  reader.fail(`${name} is missing`, name);
const readUint = (reader: WireReader): number => reader.uint();
const readText = (reader: WireReader): string => reader.text();
const readBytes = (reader: WireReader): Uint8Array => reader.message();

export function uint(number: number): Field<number> {
  const write: Write<number> = (out, value) => out.uint(number, value);
  return { number, write, read: readUint, absent: () => 0 };
}

export function optionalUint(number: number): Field<number> {
  return { number, write: (out, value) => out.presentUint(number, value), read: readUint };
}

export function sint(number: number): Field<number> {
  const write: Write<number> = (out, value) => out.sint(number, value);
  return { number, write, read: (reader, name) => reader.sint(name), absent: () => 0 };
}

/** A percentage in integer tenths: 0 to 1,000. */
export function tenths(number: number): Field<number> {
  const write: Write<number> = (out, value) => out.uint(number, Math.round(value * 10));
  return { number, write, read: (reader) => reader.uint() / 10, absent: () => 0 };
}

export function optionalDouble(number: number): Field<number> {
  const write: Write<number> = (out, value) => out.presentDouble(number, value);
  return { number, write, read: (reader) => reader.double() };
}

export function bool(number: number): Field<boolean> {
  const write: Write<boolean> = (out, value) => out.bool(number, value);
  return { number, write, read: (reader) => reader.bool(), absent: () => false };
}

export function text(number: number): Field<string> {
  const write: Write<string> = (out, value) => out.text(number, value);
  return { number, write, read: readText, absent: () => '' };
}

export function optionalText(number: number): Field<string> {
  return { number, write: (out, value) => out.presentText(number, value), read: readText };
}

export function texts(number: number): Field<readonly string[]> {
  return repeated<string>(number, (out, value) => out.presentText(number, value), readText);
}

/** An enum of the contract: a number is the position of the word, starting at 1. Others are refused. */
export function word<Word extends string>(number: number, words: readonly Word[]): Field<Word> {
  const write: Write<Word> = (out, value) => out.uint(number, words.indexOf(value) + 1);
  const read: Read<Word> = (reader, name) => {
    const value = reader.uint();
    return words[value - 1] ?? reader.fail(`unknown ${name} ${value}`, name);
  };
  return { number, write, read };
}

export function requiredWord<Word extends string>(
  number: number,
  words: readonly Word[],
): Field<Word> {
  return { ...word(number, words), absent: missing };
}

export function nested<Value>(number: number, form: Message<Value>): Field<Value> {
  return { number, write: nestedWriter(number, form), read: nestedReader(form) };
}

export function required<Value>(number: number, form: Message<Value>): Field<Value> {
  return { ...nested(number, form), absent: missing };
}

export function list<Value>(number: number, form: Message<Value>): Field<readonly Value[]> {
  return repeated(number, nestedWriter(number, form), nestedReader(form));
}

export function encodedMessage(number: number): Field<Uint8Array> {
  return { ...optionalMessage(number), absent: missing };
}

export function optionalMessage(number: number): Field<Uint8Array> {
  return { number, write: (out, value) => out.message(number, value), read: readBytes };
}

export function encodedMessages(number: number): Field<readonly Uint8Array[]> {
  return repeated<Uint8Array>(number, (out, value) => out.message(number, value), readBytes);
}

type Texts = Readonly<Record<string, string>>;
const entry = message<{ name: string; value: string }>({ name: text(1), value: text(2) });

/** A map of strings: a list of pairs on the wire. */
export function textMap(number: number): Field<Texts> {
  const writeEntry = nestedWriter(number, entry);
  const readEntry = nestedReader(entry);
  return {
    number,
    absent: () => ({}),
    write(out, value) {
      for (const [name, each] of Object.entries(value)) writeEntry(out, { name, value: each });
    },
    read(reader, field, before = {}) {
      const { name, value } = readEntry(reader, field);
      // A name may be `__proto__`.
      const property = { value, enumerable: true, configurable: true, writable: true };
      return Object.defineProperty(before, name, property);
    },
  };
}

/** `read` may append to `before`, since no one else has it until the message is read. */
function repeated<Value>(
  number: number,
  write: Write<Value>,
  read: Read<Value>,
): Field<readonly Value[]> {
  return {
    number,
    absent: () => [],
    write(out, values) {
      for (const value of values) write(out, value);
    },
    read(reader, name, before = []) {
      (before as Value[]).push(read(reader, name));
      return before;
    },
  };
}

function nestedWriter<Value>(number: number, form: Message<Value>): Write<Value> {
  return (out, value) => {
    const start = out.begin(number);
    form.write(out, value);
    out.end(start);
  };
}

function nestedReader<Value>(form: Message<Value>): Read<Value> {
  return (reader) => {
    const outerEnd = reader.enter();
    const value = form.read(reader);
    reader.leave(outerEnd);
    return value;
  };
}
