// `syncline fair eval`: evaluates how fairly a resource is shared, in scenarios of a few simulated minutes that take
// a fraction of a second.
import type { Command } from 'commander';
import type { CliWorld } from '../cli-world.js';
import { addExamples } from '../examples.js';
import { type EvalFlags, planEval } from './eval/eval-plan.js';
import { runEval } from './eval/run-eval.js';

const MEANING = `
Scenarios are noisy-neighbors, flash-crowd and batch-surge. J is Jain's
fairness index over what each client received relative to its fair share; 1 is
perfect. J30 is its mean over windows of 30 s, "worst" is the share of the
client that received least, and "used" is the fraction of the resource that was
used. Instances that share state are compared with the same number that do not.
A failure is a request that was admitted although the resource was exhausted.

Thresholds are set for the default seeds; with fewer, --check may fail by
chance. For noisy-neighbors, --check also runs 2, 4 and 8 instances, which takes
minutes; use --instances to choose other numbers, or 1 for a single instance.`;

export function addEvalCommand(fair: Command, world: CliWorld): void {
  const command = fair.command('eval').description('Evaluate how fairly a resource is shared');
  addExamples(command, [
    ['syncline fair eval', 'all scenarios, one instance'],
    ['syncline fair eval --instances 2,4,8', 'with and without sharing'],
    ['syncline fair eval --instances 4 --via redis', 'shared through Redis'],
    ['syncline fair eval --seeds 5 --picture fair.svg', 'fewer runs, with a chart'],
    ['syncline fair eval --faults --check', 'exit 1 below a threshold'],
  ]);
  command
    .addHelpText('after', MEANING)
    .option('--scenario <name>', 'Only this scenario')
    .option('--policy <name>', 'Only exponential or linear')
    .option('--instances <counts>', 'Numbers of instances, such as 8 or 2,4,8 (1)')
    .option('--interval-ms <ms>', 'Interval at which instances share (250)')
    .option('--seeds <count>', 'Number of runs to average (20)')
    .option('--via <way>', 'How instances share: service, redis or isolated (service)')
    .option('--redis-url <url>', 'Redis to use; started automatically if omitted')
    .option('--picture <file>', 'Write a chart of the client classes over time (.svg or .html)')
    .option('--faults', 'Repeat noisy-neighbors with faulty clocks, network and service')
    .option('--check', 'Exit 1 if a result misses its threshold')
    .option('--json', 'Print JSON, one object per line')
    .action((options: EvalFlags) => runEval(world, planEval(options), options.json === true));
}
