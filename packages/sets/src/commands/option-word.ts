// Names of options, in any case. Redis reads them as C strings: a null byte ends them.
import type { ByteList } from '../byte-list.js';

/** `option` is in lower case. */
export function isOption(args: ByteList, index: number, option: string): boolean {
  const size = args.sizeOf(index);
  if (size < option.length) return false;
  const text = args.text(index);
  if (size > option.length && text.charCodeAt(option.length) !== 0) return false;
  return text.slice(0, option.length).toLowerCase() === option;
}
