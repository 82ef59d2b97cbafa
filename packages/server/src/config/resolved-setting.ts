// A setting with its value and origin, and the error for an invalid value.
import { assert, SynclineError } from '@syncline/kernel';
import type { SettingEntry } from './setting-list.js';
import { describeOrigin, type SettingOrigin } from './setting-origin.js';

export interface ResolvedSetting {
  readonly entry: SettingEntry;
  /** As given, before parsing; undefined if it is not set. */
  readonly value: unknown;
  readonly origin: SettingOrigin;
}

export type ResolvedList = readonly ResolvedSetting[];

export function findSetting(list: ResolvedList, key: string): ResolvedSetting {
  const setting = list.find(({ entry }) => entry.key === key);
  assert(setting !== undefined, `there is no setting ${key}`);
  return setting;
}

/** `wrong` is the invalid part: the value itself, or one item of a list. */
export function invalidValueError(setting: ResolvedSetting, wrong: unknown): SynclineError {
  const { key, meta } = setting.entry;
  const origin = describeOrigin(setting.origin);
  const verb = wrong === setting.value ? 'is' : 'contains';
  return new SynclineError(
    'invalid-argument',
    `${key} ${verb} ${JSON.stringify(wrong)} (from ${origin}); expected ${meta.allowed}.`,
    { details: { field: key, value: wrong, origin } },
  );
}
