// State: the latest write of a task for a tag. Only its task writes it.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { type StatusClass, statusClass } from './status.js';

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

export type JsonObject = { readonly [name: string]: JsonValue };

export type SchemaIssue = StandardSchemaV1.Issue;

export type State<P = JsonObject> = Readonly<{
  jobId: string;
  taskId: number;
  tag: string;
  status: number;
  statusClass: StatusClass;
  /** What the manager that reads it calls this status, if it gave `statuses`. Names stay in the process. */
  statusName?: string;
  message: string;
  /** How far this cell is, from 0 to 1, if its writer says so. */
  progress?: number;
  /** By the store's clock. It never falls while the revision rises. */
  timestampMs: number;
  /** Per task and tag: 1, 2, 3 … */
  version: number;
  /** Per job: 1, 2, 3 … */
  revision: number;
  eventId: string;
  schemaVersion: number;
  payload?: P;
  /** Why `payload` is missing although one was written. */
  payloadIssues?: readonly SchemaIssue[];
  /** The payload as it is stored, where `payloadIssues` says why it could not be read. */
  rawPayload?: JsonObject;
}>;

/** Which cells: one, a task's, a tag's, or all. */
export type Scope = Readonly<{ taskId?: number; tag?: string }>;

/** What a cell counts as that was never written. It stands in aggregates alone, never in a stream. */
export function defaultState(jobId: string, taskId: number, tag: string): State {
  return {
    jobId,
    taskId,
    tag,
    status: 0,
    statusClass: statusClass(0),
    message: '',
    timestampMs: 0,
    version: 0,
    revision: 0,
    eventId: '',
    schemaVersion: 1,
  };
}

/** For lists of states in which payloads would weigh more than all the rest. */
export function withoutPayload<S extends State>(state: S): S {
  if (state.payload === undefined) return state;
  const { payload: _, ...rest } = state;
  return rest as S;
}
