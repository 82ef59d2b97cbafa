// The filters of CLIENT KILL, from the words behind it.
import type { ByteList } from '../../../byte-list.js';
import { errorTexts, noSuchUserText, unknownClientTypeText } from '../../errors.js';
import { integerWord } from '../../integer-word.js';
import { isOption } from '../../option-word.js';
import { DEFAULT_USER } from '../authenticate.js';
import { clientType } from './client-type.js';

export interface KillFilter {
  id: number | undefined;
  address: string | undefined;
  isSelfSkipped: boolean;
  /** A type or a local address that no connection has. */
  isNever: boolean;
}

/** A text says what is wrong with them. */
export function readKillFilter(args: ByteList): KillFilter | string {
  const filter: KillFilter = {
    id: undefined,
    address: undefined,
    isSelfSkipped: true,
    isNever: false,
  };
  for (let index = 2; index < args.length; index += 2) {
    if (index + 1 === args.length) return errorTexts.syntax;
    const flaw = readOption(args, index, filter);
    if (flaw !== undefined) return flaw;
  }
  return filter;
}

function readOption(args: ByteList, index: number, filter: KillFilter): string | undefined {
  const value = index + 1;
  if (isOption(args, index, 'id')) {
    const id = integerWord(args, value);
    if (id === undefined || id < 1) return errorTexts.clientIdNotPositive;
    filter.id = id;
  } else if (isOption(args, index, 'type')) {
    const type = clientType(args.text(value));
    if (type === undefined) return unknownClientTypeText(args.text(value));
    if (type !== 'normal') filter.isNever = true;
  } else if (isOption(args, index, 'addr')) filter.address = args.text(value);
  else if (isOption(args, index, 'laddr')) filter.isNever = true;
  else if (isOption(args, index, 'user')) {
    if (args.text(value) !== DEFAULT_USER) return noSuchUserText(args.text(value));
  } else if (isOption(args, index, 'skipme')) {
    if (isOption(args, value, 'yes')) filter.isSelfSkipped = true;
    else if (isOption(args, value, 'no')) filter.isSelfSkipped = false;
    else return errorTexts.syntax;
  } else return errorTexts.syntax;
  return undefined;
}
