// Where a value came from. Later kinds override earlier ones.
import { unreachable } from '@syncline/kernel';

export type SettingOrigin =
  | { readonly kind: 'default' }
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'environment'; readonly name: string }
  | { readonly kind: 'flag'; readonly flag: string };

const RANK: Readonly<Record<SettingOrigin['kind'], number>> = {
  default: 0,
  file: 1,
  environment: 2,
  flag: 3,
};

/** Positive if `a` overrides `b`, 0 if both have the same rank. */
export function compareOrigins(a: SettingOrigin, b: SettingOrigin): number {
  return RANK[a.kind] - RANK[b.kind];
}

/** `--http-port`, `SYNCLINE_HTTP_PORT`, `syncline.toml`, `default`. */
export function describeOrigin(origin: SettingOrigin): string {
  switch (origin.kind) {
    case 'default':
      return 'default';
    case 'file':
      return origin.file;
    case 'environment':
      return origin.name;
    case 'flag':
      return origin.flag;
    default:
      return unreachable(origin);
  }
}
