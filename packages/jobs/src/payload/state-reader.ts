// Turns a stored state into the one that a program sees: the name of its status, and its payload migrated
// and checked. What cannot be read is delivered as it is stored, with the reasons: it never ends a stream.
import type { JsonObject, SchemaIssue, State } from '../state.js';
import { thrownText } from '../thrown-text.js';
import type { TagSchema, TagSchemas } from './tag-schemas.js';

export type StatusNames = Readonly<Record<string, number>>;

type Reading =
  | { readonly payload: JsonObject }
  | { readonly payloadIssues: readonly SchemaIssue[]; readonly rawPayload: JsonObject };

export class StateReader {
  readonly #tags: ReadonlyMap<string, TagSchema>;
  readonly #nameByStatus: ReadonlyMap<number, string>;

  constructor(tags: TagSchemas = {}, statuses: StatusNames = {}) {
    this.#tags = new Map(Object.entries(tags));
    const byStatus = Object.entries(statuses).map(([name, status]) => [status, name] as const);
    this.#nameByStatus = new Map(byStatus.reverse()); // of two names the first stays
  }

  /** Whether every state is seen as it is stored. */
  get isPlain(): boolean {
    return this.#tags.size === 0 && this.#nameByStatus.size === 0;
  }

  /** Its payload is what the schema returned, which the types of a manager or reader know by the tag. */
  async read(state: State): Promise<State> {
    const statusName = this.#nameByStatus.get(state.status);
    const named = statusName === undefined ? state : { ...state, statusName };
    const { payload, ...rest } = named;
    if (this.#tags.size === 0 || payload === undefined) return named;
    const tag = this.#tags.get(state.tag);
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
    const message = `it has schema version ${storedVersion}, and ${schemaVersion} is the newest known here`;
    return unreadable(stored, message);
  }
  try {
    const isOld = storedVersion < schemaVersion && migrate !== undefined;
    if (schema === undefined && !isOld) return { payload: stored };
    // The stored object is shared with every other reader, and migrations and schemas may write into what they get.
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
