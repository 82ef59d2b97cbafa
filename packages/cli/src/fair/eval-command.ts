// `syncline fair eval`: how fairly a resource is shared, in scenarios of a few minutes that run in a fraction
// of a second.
import type { Command } from 'commander';
import type { CliWorld } from '../cli-world.js';
import { addExamples } from '../examples.js';
import { type EvalFlags, planEval } from './eval/eval-plan.js';
import { runEval } from './eval/run-eval.js';

const MEANING = `
Scenarios are noisy-neighbors, flash-crowd and batch-surge. J is Jain's index of
what each client got over its fair share: 1 is perfect. J30 is its mean over
windows of 30 s, worst the client that got least of its share, used how much of
the resource was not wasted. Fleets that share are beside equally large ones
that do not. A failure is a request that was let through in vain.

Gates are set for the default seeds: with fewer, --check may fail by chance. It
adds fleets of 2, 4 and 8 to noisy-neighbors, which take minutes; --instances
gives others, and 1 none.`;

export function addEvalCommand(fair: Command, world: CliWorld): void {
  const command = fair.command('eval').description('Evaluate how fairly a resource is shared');
  addExamples(command, [
    ['syncline fair eval', 'all scenarios, one instance'],
    ['syncline fair eval --instances 2,4,8', 'fleets, shared and not'],
    ['syncline fair eval --instances 4 --via redis', 'shared through Redis'],
    ['syncline fair eval --seeds 5 --picture fair.svg', 'quick, and drawn'],
    ['syncline fair eval --faults --check', 'exit 1 if a fault breaks it'],
  ]);
  command
    .addHelpText('after', MEANING)
    .option('--scenario <name>', 'Only this one')
    .option('--policy <name>', 'Only exponential or linear')
    .option('--instances <counts>', 'Sizes of fleets, such as 8 or 2,4,8 (1)')
    .option('--interval-ms <ms>', 'How often instances share (250)')
    .option('--seeds <count>', 'How many runs to take the mean of (20)')
    .option('--via <way>', 'service, redis or isolated (service)')
    .option('--redis-url <url>', 'A Redis to use; without it one is started')
    .option('--picture <file>', 'Draw the classes of clients over time: .svg or .html')
    .option('--faults', 'Noisy neighbours while clocks, network and service fail')
    .option('--check', 'Exit 1 and name what is below its gate')
    .option('--json', 'Print JSON, one object per line')
    .action((options: EvalFlags) => runEval(world, planEval(options), options.json === true));
}
