// CONFIG SET: all of the settings given are changed, or none.
import type { ByteList } from '../../../byte-list.js';
import type { Command, CommandContext } from '../../command.js';
import { errorTexts, settingFailedText, unknownSettingText } from '../../errors.js';
import { type SettingChange, settings } from './settings.js';

export const configSet: Command = {
  name: 'set',
  arity: -4,
  flags: ['admin', 'noscript', 'loading', 'stale'],
  group: 'server',
  syntax: 'setting value [setting value ...]',
  summary: 'Changes settings until the next start.',
  difference:
    'Works for appendfsync (everysec, always) and timeout. save, set-max-* and lazyfree-* are accepted without effect; the rest is an error. Not inside MULTI.',
  waits: true,
  run({ args, facts, reply }: CommandContext) {
    const changes = readChanges(args);
    if (typeof changes === 'string') {
      reply.error(changes);
      return undefined;
    }
    const pending = changes.map(({ change, value }) => change.apply(value, facts));
    const waits = pending.filter((wait) => wait !== undefined);
    if (waits.length > 0) return Promise.all(waits).then(() => reply.simple('OK'));
    reply.simple('OK');
    return undefined;
  },
};

interface Change {
  readonly change: SettingChange;
  readonly value: string;
}

/** A text says what is wrong with them. An unknown name counts first, as in Redis. */
function readChanges(args: ByteList): readonly Change[] | string {
  if (args.length % 2 === 1) return errorTexts.syntax;
  const names: string[] = [];
  for (let index = 2; index < args.length; index += 2) {
    const name = args.text(index).toLowerCase();
    const setting = settings.get(name);
    if (setting === undefined) return unknownSettingText(args.text(index));
    if (setting.change === 'fixed') return settingFailedText(name, "can't set immutable config");
    if (names.includes(name)) return settingFailedText(name, 'duplicate parameter');
    names.push(name);
  }
  const changes: Change[] = [];
  for (const [position, name] of names.entries()) {
    const change = settings.get(name)?.change;
    if (change === undefined || change === 'fixed' || change === 'ignored') continue;
    const value = args.text(position * 2 + 3);
    const flaw = change.flaw(value);
    if (flaw !== undefined) return settingFailedText(name, flaw);
    changes.push({ change, value });
  }
  return changes;
}
