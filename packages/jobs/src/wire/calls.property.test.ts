// The codec of the calls and Protobuf-ES, made from the contract, understand each other. Messages are generated from
// the descriptors of the contract, so that none of its fields is left out here.
import {
  create,
  type DescField,
  type DescMessage,
  equals,
  fromBinary,
  type Message as ProtoMessage,
  ScalarType,
  toBinary,
} from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { SynclineError } from '@syncline/kernel';
import { decode, encode, type Message } from '@syncline/kernel/wire';
import { JobService } from '@syncline/protocol/jobs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Call, ENVELOPE_BYTES, jobCalls } from './calls.js';

const count = fc.oneof(fc.nat(300), fc.maxSafeNat());
const uint32 = fc.oneof(fc.nat(300), fc.nat(0xffff_ffff));
const word = fc.string({ unit: 'grapheme', maxLength: 60 });
/** Protobuf-ES keeps maps in plain objects, which cannot hold this name. */
const name = word.filter((each) => each !== '__proto__');

const scalars: Readonly<Partial<Record<ScalarType, fc.Arbitrary<unknown>>>> = {
  [ScalarType.BOOL]: fc.boolean(),
  [ScalarType.BYTES]: word.map((text) => new TextEncoder().encode(text)), // JSON texts
  [ScalarType.DOUBLE]: fc.constantFrom(0, 0.25, 1),
  [ScalarType.INT32]: fc.nat(16),
  [ScalarType.INT64]: count.map(BigInt),
  [ScalarType.SINT32]: fc.oneof(fc.constantFrom(-2_147_483_648, 2_147_483_647), fc.integer()),
  [ScalarType.STRING]: word,
  [ScalarType.UINT32]: uint32,
  [ScalarType.UINT64]: count.map(BigInt),
};

function fieldOf(field: DescField): fc.Arbitrary<unknown> {
  switch (field.fieldKind) {
    case 'message':
      return initOf(field.message);
    case 'enum':
      return fc.constantFrom(...field.enum.values.slice(1).map(({ number }) => number));
    case 'map':
      return fc.dictionary(name, word, { maxKeys: 3 }).map((map) => ({ ...map }));
    case 'list': {
      const items: fc.Arbitrary<unknown> =
        field.listKind === 'message' ? initOf(field.message) : word;
      return fc.array(items, { maxLength: 3 });
    }
    case 'scalar': {
      const value = scalars[field.scalar];
      if (value === undefined) throw new Error(`no values for ${field.name}`);
      const isOptional = field.presence === FeatureSet_FieldPresence.EXPLICIT;
      return isOptional ? fc.option(value, { nil: undefined }) : value;
    }
  }
}

/** Any message of the contract, with one member of each oneof. */
function initOf({ members, name: message }: DescMessage): fc.Arbitrary<Record<string, unknown>> {
  const values = members.map((member) => {
    if (member.kind === 'field') return fieldOf(member);
    const cases = member.fields.map((field) =>
      fieldOf(field).map((value) => ({ case: field.localName, value })),
    );
    return fc.oneof(...cases);
  });
  return fc.tuple(...values).map((given) => {
    const entries = members.map(({ localName }, index) => [localName, given[index]]);
    const init = Object.fromEntries(entries.filter(([, value]) => value !== undefined));
    if (message !== 'UpdateJobRequest') return init;
    // What is not to be set is left out.
    const { labels, expectedTags, ...rest } = init;
    return {
      ...rest,
      ...(rest.setLabels && { labels }),
      ...(rest.setExpectedTags && { expectedTags }),
    };
  });
}

interface Codec {
  read(bytes: Uint8Array): unknown;
  write(value: never): Uint8Array;
}

function codecOf<Value>(form: Message<Value>): Codec {
  return {
    read: (bytes) => decode(form, bytes, { name: 'message' }),
    write: (value) => encode(form, value),
  };
}

function comesBack(schema: DescMessage, { read, write }: Codec): void {
  fc.assert(
    fc.property(initOf(schema), (init) => {
      const sent = create(schema, init) as ProtoMessage & Readonly<Record<string, unknown>>;
      const value = read(toBinary(schema, sent)) as Readonly<Record<string, unknown>>;
      const back = fromBinary(schema, write(value as never), { readUnknownFields: false });
      expect(equals(schema, sent, back)).toBe(true);
      for (const { fieldKind, localName } of schema.fields) {
        const mine = value[localName];
        if (fieldKind !== 'scalar' || mine === undefined || mine instanceof Uint8Array) continue;
        const theirs = sent[localName];
        if (theirs instanceof Uint8Array) expect(mine).toBe(Buffer.from(theirs).toString());
        else expect(mine).toBe(typeof theirs === 'bigint' ? Number(theirs) : theirs);
      }
    }),
    { numRuns: 60 },
  );
}

/** Refused with its code, or read: nothing else happens. */
function refusesJunk(schema: DescMessage, { read }: Codec): void {
  fc.assert(
    fc.property(initOf(schema), fc.uint8Array({ maxLength: 40 }), fc.nat(200), (init, junk, at) => {
      const bytes = toBinary(schema, create(schema, init));
      const spoilt = Uint8Array.from(bytes);
      spoilt.set(junk.subarray(0, Math.max(0, spoilt.length - at)), Math.min(at, spoilt.length));
      for (const hostile of [junk, spoilt, bytes.subarray(0, at)]) {
        try {
          read(hostile);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(SynclineError);
          expect(thrown).toMatchObject({ code: 'invalid-argument' });
        }
      }
    }),
    { numRuns: 200 },
  );
}

const names = Object.keys(jobCalls) as (keyof typeof jobCalls)[];

describe.each(names)('%s', (each) => {
  const { input, output, name: method } = JobService.method[each];
  const call = jobCalls[each] as unknown as Call<unknown, unknown>;

  test('a request means the same to Protobuf-ES', () => {
    expect(call.name).toBe(method);
    comesBack(input, codecOf(call.request));
  });

  test('an answer means the same to Protobuf-ES', () => {
    if (call.response !== undefined) comesBack(output, codecOf(call.response));
  });

  test('J20 bytes that are not a request are refused, without side effects', () => {
    refusesJunk(input, codecOf(call.request));
  });
});

test('the envelope of a write is no larger than declared', () => {
  fc.assert(
    fc.property(count, fc.uint8Array({ maxLength: 300 }), (number, write) => {
      const bytes = encode(jobCalls.setStates.request, { writes: [{ number, write }] });
      expect(bytes.length).toBeLessThanOrEqual(write.length + ENVELOPE_BYTES);
    }),
  );
});

test('the service has no call beyond these', () => {
  expect([...names].sort()).toEqual(Object.keys(JobService.method).sort());
});
