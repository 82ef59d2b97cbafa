// CLIENT NO-EVICT and NO-TOUCH: nothing is evicted here, and nothing remembers its last use, so both are
// accepted without effect.
import type { Command, CommandFlag } from '../../command.js';
import { errorTexts } from '../../errors.js';
import { isOption } from '../../option-word.js';

export const clientNoEvict: Command = switchCommand('no-evict', ['admin'], 'Accepted.');
export const clientNoTouch: Command = switchCommand('no-touch', [], 'From Redis 7.2. Accepted.');

function switchCommand(name: string, flags: readonly CommandFlag[], difference: string): Command {
  return {
    name,
    arity: 3,
    flags: [...flags, 'noscript', 'loading', 'stale'],
    group: 'connection',
    syntax: 'ON|OFF',
    summary: 'Has no effect: connections and keys are not evicted.',
    difference,
    run({ args, reply }) {
      const isSwitch = isOption(args, 2, 'on') || isOption(args, 2, 'off');
      if (isSwitch) reply.simple('OK');
      else reply.error(errorTexts.syntax);
    },
  };
}
