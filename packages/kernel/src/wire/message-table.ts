// Protobuf messages as tables: one line per field, with its name, number and type.
//
//   const live = message<Live>({ revision: uint(1) })
//
// A table both reads and writes. It costs a function call per field, which is negligible compared to a call over the
// network. Messages of which there are 100,000 per second have hand-written code.
import { WireReader } from './wire-reader.js';
import { WireWriter } from './wire-writer.js';

export interface Message<Value> {
  write(writer: WireWriter, value: Value): void;
  /** `before` is what was read of the same message so far: one that occurs twice is merged. */
  read(reader: WireReader, before?: Value): Value;
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
    read(reader, before) {
      const values: Record<string, unknown> = { ...before };
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

/** A type of values: how one is written, even if it is the default, and read. */
interface Kind<Value> {
  write(out: WireWriter, number: number, value: Value): void;
  read(reader: WireReader, name: string, before?: Value): Value;
}

const UINT: Kind<number> = {
  write: (out, number, value) => out.presentUint(number, value),
  read: (reader) => reader.uint(),
};
const SINT: Kind<number> = {
  write: (out, number, value) => out.sint(number, value),
  read: (reader, name) => reader.sint(name),
};
const UINT32: Kind<number> = { ...UINT, read: (reader) => reader.word() };
/** Infinity above 2^53 − 1, for callers that check values later. */
const LOOSE_UINT: Kind<number> = { ...UINT, read: (reader) => reader.uintOrInfinity() };
const INT32: Kind<number> = {
  write: (out, number, value) => out.int32(number, value),
  read: (reader) => reader.int32(),
};
const FIXED64: Kind<bigint> = {
  write: (out, number, value) => out.fixed64(number, value),
  read: (reader) => reader.fixed64(),
};
/** A percentage in integer tenths: 0 to 1,000. */
const TENTHS: Kind<number> = {
  write: (out, number, value) => out.uint(number, Math.round(value * 10)),
  read: (reader) => reader.uint() / 10,
};
const DOUBLE: Kind<number> = {
  write: (out, number, value) => out.presentDouble(number, value),
  read: (reader) => reader.double(),
};
const BOOL: Kind<boolean> = {
  write: (out, number, value) => out.bool(number, value),
  read: (reader) => reader.bool(),
};
const TEXT: Kind<string> = {
  write: (out, number, value) => out.presentText(number, value),
  read: (reader) => reader.text(),
};
/** A message that stays encoded. */
const BYTES: Kind<Uint8Array> = {
  write: (out, number, value) => out.message(number, value),
  read: (reader) => reader.message(),
};

/** An enum of the contract: a number is the position of the word, starting at 1. Others are refused. */
const oneOf = <Word extends string>(words: readonly Word[]): Kind<Word> => ({
  write: (out, number, value) => out.uint(number, words.indexOf(value) + 1),
  read(reader, name) {
    const value = reader.uint();
    return words[value - 1] ?? reader.fail(`unknown ${name} ${value}`, name);
  },
});

const inside = <Value>(form: Message<Value>): Kind<Value> => ({
  write(out, number, value) {
    const start = out.begin(number);
    form.write(out, value);
    out.end(start);
  },
  read(reader, _name, before) {
    const outerEnd = reader.enter();
    const value = form.read(reader, before);
    reader.leave(outerEnd);
    return value;
  },
});

/** If omitted, the value is omitted too. */
function optional<Value>(number: number, { write, read }: Kind<Value>): Field<Value> {
  return { number, write: (out, value) => write(out, number, value), read };
}

/** A sender that omits it violates the contract. */
function present<Value>(number: number, kind: Kind<Value>): Field<Value> {
  const absent = (reader: WireReader, name: string) => reader.fail(`${name} is missing`, name);
  return { ...optional(number, kind), absent };
}

/** If omitted, the value is the default, which is not written. */
function plain<Value>(number: number, { write, read }: Kind<Value>, usual: Value): Field<Value> {
  const writeOther = (out: WireWriter, value: Value) => {
    if (!Object.is(value, usual)) write(out, number, value);
  };
  return { number, write: writeOther, read, absent: () => usual };
}

/** `read` may append to `before`, since no one else has it until the message is read. */
function repeated<Value>(number: number, kind: Kind<Value>): Field<readonly Value[]> {
  return {
    number,
    absent: () => [],
    write(out, values) {
      for (const value of values) kind.write(out, number, value);
    },
    read(reader, name, before = []) {
      (before as Value[]).push(kind.read(reader, name));
      return before;
    },
  };
}

export const uint = (number: number) => plain(number, UINT, 0);
export const optionalUint = (number: number) => optional(number, UINT);
export const uint32 = (number: number) => plain(number, UINT32, 0);
export const looseUint = (number: number) => plain(number, LOOSE_UINT, 0);
export const int32 = (number: number) => plain(number, INT32, 0);
export const sint = (number: number) => plain(number, SINT, 0);
export const double = (number: number) => plain(number, DOUBLE, 0);
export const fixed64 = (number: number) => plain(number, FIXED64, 0n);
export const tenths = (number: number) => plain(number, TENTHS, 0);
export const optionalDouble = (number: number) => optional(number, DOUBLE);
export const bool = (number: number) => plain(number, BOOL, false);
export const text = (number: number) => plain(number, TEXT, '');
export const optionalText = (number: number) => optional(number, TEXT);
export const texts = (number: number) => repeated(number, TEXT);
export const word = <Word extends string>(number: number, words: readonly Word[]) =>
  optional(number, oneOf(words));
export const requiredWord = <Word extends string>(number: number, words: readonly Word[]) =>
  present(number, oneOf(words));
export const nested = <Value>(number: number, form: Message<Value>) =>
  optional(number, inside(form));
export const required = <Value>(number: number, form: Message<Value>) =>
  present(number, inside(form));
export const list = <Value>(number: number, form: Message<Value>) => repeated(number, inside(form));
export const encodedMessage = (number: number) => present(number, BYTES);
export const optionalMessage = (number: number) => optional(number, BYTES);
export const encodedMessages = (number: number) => repeated(number, BYTES);

type Texts = Readonly<Record<string, string>>;
const entry = inside(message({ name: text(1), value: text(2) }));

/** A map of strings: a list of pairs on the wire. */
export function textMap(number: number): Field<Texts> {
  return {
    number,
    absent: () => ({}),
    write(out, pairs) {
      for (const [name, value] of Object.entries(pairs)) entry.write(out, number, { name, value });
    },
    read(reader, field, before = {}) {
      const { name, value } = entry.read(reader, field);
      // A name may be `__proto__`.
      const property = { value, enumerable: true, configurable: true, writable: true };
      return Object.defineProperty(before, name, property);
    },
  };
}
