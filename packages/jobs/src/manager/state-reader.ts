// Reads states with the declared tags and status names: a payload becomes the output of its schema.
import type { JsonObject, State } from '../job.js';
import type { StatusNames, TagSchema, TagSchemas } from './job-manager.js';
import { thrownText } from './status-message.js';

type Reading = Pick<State, 'payload' | 'payloadIssues' | 'rawPayload'>;

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
