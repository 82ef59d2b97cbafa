// The tags declared to a manager or reader, and the types derived from them: the tag names, and the input and output
// type of each payload.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonObject, SchemaIssue, State } from '../job.js';
import { thrownText } from './status-message.js';

export type StatusNames = Readonly<Record<string, number>>;

type Reading =
  | { readonly payload: JsonObject }
  | { readonly payloadIssues: readonly SchemaIssue[]; readonly rawPayload: JsonObject };

export class StateReader {
  readonly tags: ReadonlyMap<string, TagSchema>;
  readonly statuses: ReadonlyMap<string, number>;
  readonly #nameByStatus: ReadonlyMap<number, string>;

  constructor(tags: TagSchemas = {}, statuses: StatusNames = {}) {
    this.tags = new Map(Object.entries(tags));
    this.statuses = new Map(Object.entries(statuses));
    const byStatus = Object.entries(statuses).map(([name, status]) => [status, name] as const);
    this.#nameByStatus = new Map(byStatus.reverse()); // if two names have the same status, the first one wins
  }

  /** Whether states are returned as stored. */
  get isPlain(): boolean {
    return this.tags.size === 0 && this.#nameByStatus.size === 0;
  }

  /** The payload becomes the output of the schema, which managers and readers type by tag. */
  async read(state: State): Promise<State> {
    const statusName = this.#nameByStatus.get(state.status);
    const named = statusName === undefined ? state : { ...state, statusName };
    const { payload, ...rest } = named;
    if (this.tags.size === 0 || payload === undefined) return named;
    const tag = this.tags.get(state.tag);
    if (tag === undefined) return { ...rest, ...unreadable(payload, 'the tag was not declared') };
    return { ...rest, ...(await readPayload(tag, payload, state.schemaVersion)) };
  }
}

async function readPayload(
  tag: TagSchema,
  stored: JsonObject,
  storedVersion: number,
): Promise<Reading> {
  const { schema, schemaVersion = 1, migrate } = tag;
  if (storedVersion > schemaVersion) {
    const message = `it has schema version ${storedVersion}; the newest known here is ${schemaVersion}`;
    return unreadable(stored, message);
  }
  try {
    const isOld = storedVersion < schemaVersion && migrate !== undefined;
    if (schema === undefined && !isOld) return { payload: stored };
    // The stored object is shared with other readers, and migrations and schemas may modify their input.
    const own = structuredClone(stored);
    const current = isOld ? await migrate(own, storedVersion) : own;
    if (schema === undefined) return { payload: current };
    const result = await schema['~standard'].validate(current);
    if (result.issues === undefined) return { payload: result.value as JsonObject };
    return { payloadIssues: result.issues, rawPayload: stored };
  } catch (thrown) {
    return unreadable(stored, thrownText(thrown));
  }
}

function unreadable(rawPayload: JsonObject, message: string): Reading {
  return { payloadIssues: [{ message }], rawPayload };
}

/** Converts a payload from an older schema version to the current one. It may modify or keep its argument. */
export type Migrate = (
  payload: JsonObject,
  fromVersion: number,
) => JsonObject | Promise<JsonObject>;

export type TagSchema = Readonly<{
  /** Checks payloads before they are sent, and again when they are read. Default: any JSON object. */
  schema?: StandardSchemaV1;
  /** Stored with each state. `migrate` converts older payloads to this version. Default 1. */
  schemaVersion?: number;
  /** Whether every task will write this tag. Tasks that have not yet count as not started. Default true. */
  expected?: boolean;
  migrate?: Migrate;
}>;

export type TagSchemas = Readonly<Record<string, TagSchema>>;

/** The declared tags; any string if there are none. */
export type TagName<Tags extends TagSchemas> = Extract<keyof Tags, string>;

type WithSchema<S extends StandardSchemaV1> = Readonly<{ schema: S }>;

/** The type that is written: the input of the schema. */
export type PayloadInput<Tags extends TagSchemas, T extends TagName<Tags>> =
  Tags[T] extends WithSchema<infer S> ? StandardSchemaV1.InferInput<S> : JsonObject;

/** The type that is read: the output of the schema. */
export type PayloadOutput<Tags extends TagSchemas, T extends TagName<Tags>> =
  Tags[T] extends WithSchema<infer S> ? StandardSchemaV1.InferOutput<S> : JsonObject;

type TaggedState<T extends string, P> = Omit<State<P>, 'tag'> & Readonly<{ tag: T }>;

/** A state of the given tag; for several tags, a union that `state.tag` narrows. */
export type StateOf<Tags extends TagSchemas, T extends TagName<Tags>> =
  T extends TagName<Tags> ? TaggedState<T, PayloadOutput<Tags, T>> : never;

/**
 * A state of any tag. At runtime it may also have a tag that was not declared here but written by others, or `''` for
 * the cell of a task without tags. Such a state has no `payload`; if one was written, it is in `rawPayload`.
 */
export type AnyState<Tags extends TagSchemas> = StateOf<Tags, TagName<Tags>>;
