// A command as COMMAND and COMMAND INFO show it.
import type { Reply } from '../../../resp/reply.js';
import type { KnownCommand } from '../../command.js';
import { aclCategories } from './acl-categories.js';

/** Name, arity, flags, keys, categories, hints, key specifications and subcommands. */
export function replyEntry(reply: Reply, { command, fullName, subcommands }: KnownCommand): void {
  const { arity, flags, keys } = command;
  reply.array(10);
  reply.bulkText(fullName);
  reply.integer(arity);
  replyWords(reply, flags);
  reply.integer(keys?.first ?? 0);
  reply.integer(keys?.last ?? 0);
  reply.integer(keys?.step ?? 0);
  replyWords(reply, aclCategories(command));
  reply.set(0);
  reply.set(0);
  const children = subcommands?.all ?? [];
  reply.set(children.length);
  for (const child of children) replyEntry(reply, child);
}

function replyWords(reply: Reply, words: readonly string[]): void {
  reply.set(words.length);
  for (const word of words) reply.simple(word);
}
