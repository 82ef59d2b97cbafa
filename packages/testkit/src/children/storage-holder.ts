// Holds a directory until its standard input ends, or reports its holder.
//
//   node storage-holder.js claim|open DIRECTORY
//
// One line of JSON: `{"holds":true}`, or the code, message and details of the refusal.
import { createSystemClock, SynclineError, silentLogger } from '@syncline/kernel';
import { openLevelStorage } from '@syncline/kernel/level';
import { claimDirectory } from '@syncline/kernel/node';

const [mode = 'claim', directory = ''] = process.argv.slice(2);
const deps = { clock: createSystemClock(), logger: silentLogger };

try {
  await using held =
    mode === 'claim'
      ? await claimDirectory(deps, directory)
      : await openLevelStorage(deps, { directory });
  process.stdout.write(`${JSON.stringify({ holds: held !== undefined })}\n`);
  for await (const _ of process.stdin);
} catch (thrown) {
  const { code, message, details } = SynclineError.from(thrown);
  process.stdout.write(`${JSON.stringify({ code, message, details })}\n`);
}
