// Messages of the contract as tables: one line per field, which says its name here, its number and its form.
//
//   const live = message<Live>({ revision: uint(1) })
//
// A table reads and writes. It costs a call per field, which is nothing beside a call of gRPC; what comes
// 100 000 times a second, the State, has code of its own.
import { ProtoReader } from './proto-reader.js';
import { ProtoWriter } from './proto-writer.js';
import type { WireEnum } from './wire-enums.js';

export interface Message<Value> {
  write(writer: ProtoWriter, value: Value): void;
  read(reader: ProtoReader): Value;
}

export interface Field<Value> {
  readonly number: number;
  write(writer: ProtoWriter, value: Value): void;
  /** `before` is what it held until now: a field may come several times. */
  read(reader: ProtoReader, name: string, before: Value | undefined): Value;
  /** What it is when the sender left it out. */
  absent(reader: ProtoReader, name: string): Value;
}

export type Fields<Value> = { readonly [Name in keyof Value]-?: Field<Value[Name]> };

export function message<Value extends object>(fields: Fields<Value>): Message<Value> {
  const entries = Object.entries(fields) as [string, Field<unknown>][];
  const byNumber = new Map(entries.map(([name, field]) => [field.number, { name, field }]));
  return {
    write(writer, value) {
      const values = value as Readonly<Record<string, unknown>>;
      for (const [name, field] of entries) field.write(writer, values[name]);
    },
    read(reader) {
      const values: Record<string, unknown> = {};
      for (let number = reader.field(); number !== 0; number = reader.field()) {
        const known = byNumber.get(number);
        if (known === undefined) reader.skip();
        else values[known.name] = known.field.read(reader, known.name, values[known.name]);
      }
      for (const [name, field] of entries) values[name] ??= field.absent(reader, name);
      return values as Value;
    },
  };
}

/** The same bytes for another form of the value. */
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

const writer = new ProtoWriter();

export function encode<Value>(form: Message<Value>, value: Value): Uint8Array {
  writer.clear();
  form.write(writer, value);
  return writer.copy();
}

/** Throws `invalid-argument` on bytes that are not the message. */
export function decode<Value>(
  form: Message<Value>,
  bytes: Uint8Array,
  { name, jobId = '' }: { readonly name: string; readonly jobId?: string },
): Value {
  return form.read(new ProtoReader(name, bytes, jobId));
}

export function uint(number: number): Field<number> {
  return {
    number,
    absent: () => 0,
    write: (out, value) => out.uint(number, value),
    read: (reader) => reader.uint(),
  };
}

export function sint(number: number): Field<number> {
  return {
    number,
    absent: () => 0,
    write: (out, value) => out.sint(number, value),
    read: (reader, name) => reader.sint(name),
  };
}

export function bool(number: number): Field<boolean> {
  return {
    number,
    absent: () => false,
    write: (out, value) => out.bool(number, value),
    read: (reader) => reader.bool(),
  };
}

export function text(number: number): Field<string> {
  return {
    number,
    absent: () => '',
    write: (out, value) => out.text(number, value),
    read: (reader) => reader.text(),
  };
}

export function optionalUint(number: number): Field<number | undefined> {
  return {
    number,
    absent: () => undefined,
    write(out, value) {
      if (value !== undefined) out.presentUint(number, value);
    },
    read: (reader) => reader.uint(),
  };
}

export function optionalText(number: number): Field<string | undefined> {
  return {
    number,
    absent: () => undefined,
    write(out, value) {
      if (value !== undefined) out.presentText(number, value);
    },
    read: (reader) => reader.text(),
  };
}

export function optionalDouble(number: number): Field<number | undefined> {
  return {
    number,
    absent: () => undefined,
    write(out, value) {
      if (value !== undefined) out.double(number, value);
    },
    read: (reader) => reader.double(),
  };
}

/** A nested message that stays encoded. A sender that leaves it out speaks another contract. */
export function encodedMessage(number: number): Field<Uint8Array> {
  return {
    number,
    absent: (reader, name) => reader.fail(`${name} is missing`),
    write: (out, value) => out.message(number, value),
    read: (reader) => reader.message(),
  };
}

export function encodedMessages(number: number): Field<readonly Uint8Array[]> {
  return {
    number,
    absent: () => [],
    write(out, values) {
      for (const value of values) out.message(number, value);
    },
    read: (reader, _, before) => append(before, reader.message()),
  };
}

/** Undefined is what the contract calls unspecified. A number that it does not know is refused. */
export function word<Word extends string>(
  number: number,
  words: WireEnum<Word>,
): Field<Word | undefined> {
  return {
    number,
    absent: () => undefined,
    write: (out, value) => out.uint(number, value === undefined ? 0 : words.numberOf(value)),
    read(reader, name) {
      const value = reader.uint();
      if (value === 0) return undefined;
      return words.wordOf(value) ?? reader.fail(`${name} ${value} is not known`, name);
    },
  };
}

/** A sender that leaves it out, or means something that is not known here, speaks another contract. */
export function requiredWord<Word extends string>(
  number: number,
  words: WireEnum<Word>,
): Field<Word> {
  return {
    number,
    absent: (reader, name) => reader.fail(`${name} is missing`, name),
    write: (out, value) => out.uint(number, words.numberOf(value)),
    read(reader, name) {
      const value = reader.uint();
      return words.wordOf(value) ?? reader.fail(`${name} ${value} is not known`, name);
    },
  };
}

export function texts(number: number): Field<readonly string[]> {
  return {
    number,
    absent: () => [],
    write(out, values) {
      for (const value of values) out.presentText(number, value);
    },
    read: (reader, _, before) => append(before, reader.text()),
  };
}

/** Undefined where the sender left it out. */
export function nested<Value>(number: number, form: Message<Value>): Field<Value | undefined> {
  return {
    number,
    absent: () => undefined,
    write(out, value) {
      if (value !== undefined) writeNested(out, number, { form, value });
    },
    read: (reader) => readNested(reader, form),
  };
}

/** A sender that leaves it out speaks another contract. */
export function required<Value>(number: number, form: Message<Value>): Field<Value> {
  return {
    number,
    absent: (reader, name) => reader.fail(`${name} is missing`),
    write: (out, value) => writeNested(out, number, { form, value }),
    read: (reader) => readNested(reader, form),
  };
}

export function list<Value>(number: number, form: Message<Value>): Field<readonly Value[]> {
  return {
    number,
    absent: () => [],
    write(out, values) {
      for (const value of values) writeNested(out, number, { form, value });
    },
    read: (reader, _, before) => append(before, readNested(reader, form)),
  };
}

function writeNested<Value>(
  out: ProtoWriter,
  number: number,
  { form, value }: { readonly form: Message<Value>; readonly value: Value },
): void {
  const start = out.begin(number);
  form.write(out, value);
  out.end(start);
}

function readNested<Value>(reader: ProtoReader, form: Message<Value>): Value {
  const outerEnd = reader.enter();
  const value = form.read(reader);
  reader.leave(outerEnd);
  return value;
}

/** The list is the reader's own until the message is read. */
function append<Value>(values: readonly Value[] | undefined, value: Value): readonly Value[] {
  if (values === undefined) return [value];
  (values as Value[]).push(value);
  return values;
}
