// What a manager or reader is told of its tags, and the types that follow from it: which tags there are, and
// what goes in and comes out as the payload of each.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonObject, State } from '../state.js';

/** Makes a payload of an older schema version one of the current version. It may keep what it is given. */
export type Migrate = (
  payload: JsonObject,
  fromVersion: number,
) => JsonObject | Promise<JsonObject>;

export type TagSchema = Readonly<{
  /** Checks payloads before they are sent, and again when they are read. Default: any JSON object. */
  schema?: StandardSchemaV1;
  /** What is written with each state, and what `migrate` brings older payloads to. Default 1. */
  schemaVersion?: number;
  /** Whether every task will write this tag, so that those that have not count as not started. Default true. */
  expected?: boolean;
  migrate?: Migrate;
}>;

export type TagSchemas = Readonly<Record<string, TagSchema>>;

/** The tags that were declared; any string if none were. */
export type TagName<Tags extends TagSchemas> = Extract<keyof Tags, string>;

type SchemaOf<Tags extends TagSchemas, T extends TagName<Tags>> = Tags[T] extends {
  readonly schema: infer S extends StandardSchemaV1;
}
  ? S
  : never;

/** What is written: the input of the schema. */
export type PayloadInput<Tags extends TagSchemas, T extends TagName<Tags>> = [
  SchemaOf<Tags, T>,
] extends [never]
  ? JsonObject
  : StandardSchemaV1.InferInput<SchemaOf<Tags, T>>;

/** What is read: the output of the schema. */
export type PayloadOutput<Tags extends TagSchemas, T extends TagName<Tags>> = [
  SchemaOf<Tags, T>,
] extends [never]
  ? JsonObject
  : StandardSchemaV1.InferOutput<SchemaOf<Tags, T>>;

type TaggedState<T extends string, P> = Omit<State<P>, 'tag'> & Readonly<{ tag: T }>;

/** A state of a tag that was asked for by name; of several, a union that `state.tag` narrows. */
export type StateOf<Tags extends TagSchemas, T extends TagName<Tags>> =
  T extends TagName<Tags> ? TaggedState<T, PayloadOutput<Tags, T>> : never;

/**
 * A state of any tag. A tag that was not declared here may come too, if others write it, and `''` for the cell
 * of a task without tags; such a state has no `payload` but `rawPayload`.
 */
export type AnyState<Tags extends TagSchemas> = StateOf<Tags, TagName<Tags>>;
