// What the format and the backends need to know about one state, checked when the state is opened.
import { SynclineError } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import type { Codec } from './codec.js';
import { KEY_GROUPS_DEFAULT, KEY_HASH } from './key.js';
import type { StateDescription } from './state-backend.js';
import { incompatible, tooNew } from './state-error.js';
import type { VersionType } from './version.js';

export interface StateSchema<V, Ver> {
  readonly uid: string;
  readonly kind: StateDescription['kind'];
  readonly codec: Codec<V>;
  readonly versions: VersionType<Ver>;
  readonly keyGroups: number;
  /** Maximum size of one encoded value. */
  readonly valueBytesMax: number;
}

const UID = /^[a-z][a-z0-9-]{0,62}$/;

export function isUid(text: string): boolean {
  return UID.test(text);
}

/**
 * States named `<operator>/~<state>` are internal to an operator: they hold all items, windows, ids or timers of a key
 * in one value, and the operator limits their size and number.
 */
export function valueBytesMaxOf(uid: string): number {
  return uid.includes('/~') ? Number.POSITIVE_INFINITY : streamsLimits.valueBytesMax.value;
}

/** Throws `invalid-argument` for an invalid uid, codec or number of key groups. */
export function createSchema(
  uid: string,
  description: StateDescription,
  keyGroups = KEY_GROUPS_DEFAULT,
): StateSchema<unknown, unknown> {
  if (!isUid(uid)) {
    throw invalid('uid', `uid ${JSON.stringify(uid)} does not match ${UID.source}`);
  }
  return createStateSchema(uid, description, keyGroups);
}

/** The same for a state of a pipeline, whose uid `<operator>/<state>` has already been checked. */
export function createStateSchema(
  uid: string,
  { kind, codec, versions }: StateDescription,
  keyGroups: number,
): StateSchema<unknown, unknown> {
  if (codec.id === '' || !Number.isSafeInteger(codec.version) || codec.version < 1) {
    throw invalid('codec', `codec "${codec.id}" needs an id, and an integer version of at least 1`);
  }
  const { value: keyGroupsMax } = streamsLimits.keyGroupsMax;
  if (!Number.isInteger(keyGroups) || keyGroups < 1 || keyGroups > keyGroupsMax) {
    throw invalid(
      'keyGroups',
      `keyGroups ${keyGroups} is not an integer from 1 to ${keyGroupsMax}`,
    );
  }
  return { uid, kind, codec, versions, keyGroups, valueBytesMax: valueBytesMaxOf(uid) };
}

/** What is stored beside the entries of a state, in tables and snapshots. */
export interface StoredSchema {
  readonly kind: string;
  readonly versionKind: string;
  readonly codec: { readonly id: string; readonly version: number };
  readonly keyGroups: number;
  readonly hash: string;
}

export function storedSchema<V, Ver>(schema: StateSchema<V, Ver>): StoredSchema {
  const { kind, versions, codec, keyGroups } = schema;
  return {
    kind,
    versionKind: versions.kind,
    codec: { id: codec.id, version: codec.version },
    keyGroups,
    hash: KEY_HASH,
  };
}

/** Throws `incompatible` or `too-new` if entries with this stored schema cannot be read. */
export function checkStoredSchema<V, Ver>(
  what: string,
  schema: StateSchema<V, Ver>,
  stored: StoredSchema,
): void {
  const expected = storedSchema(schema);
  const fields = [
    ['kind', expected.kind, stored.kind],
    ['version kind', expected.versionKind, stored.versionKind],
    ['codec', expected.codec.id, stored.codec.id],
    ['key groups', expected.keyGroups, stored.keyGroups],
    ['key hash', expected.hash, stored.hash],
  ] as const;
  for (const [field, wanted, found] of fields) {
    if (wanted !== found) throw incompatible(what, field, wanted, found);
  }
  const { id, version } = expected.codec;
  if (stored.codec.version > version) {
    throw tooNew(`codec "${id}" of ${what}`, stored.codec.version, version);
  }
}

function invalid(field: string, message: string): SynclineError {
  return new SynclineError('invalid-argument', message, { details: { field } });
}
