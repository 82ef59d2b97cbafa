// Fair: the cost of clients that do not read: to others in time, and to the server in memory.
import type { AnyBench, Contestant } from './bench.js';
import { openStalledRig, type StalledRig, type StalledRigOptions } from './fair-stalled-rig.js';
import { defineBench, quantile } from './measure.js';

/** Messages of about 14 kB each: more than a connection and the server buffer for one stream. */
const FLOOD_MESSAGES = 30;
/** More than 1 MiB, if the server kept them. */
const MEMORY_FLOOD_MESSAGES = 100;
const STALLED_FOR_MEMORY = 50;
const MIB = 1024 * 1024;

function rigContestant(
  name: string,
  options: StalledRigOptions,
  isStalled: boolean,
): Contestant<StalledRig> {
  return {
    name,
    async open() {
      const rig = await openStalledRig(options);
      if (isStalled) rig.freeze();
      return rig;
    },
  };
}

function latencyBench(name: string, options: StalledRigOptions, messages: number): AnyBench {
  const { readers, others } = options;
  return defineBench<StalledRig>({
    name,
    unit: 'ms',
    better: 'less',
    about: `99th percentile of the time from a change to its delivery to ${readers} readers, beside clients that do not read: ${others}`,
    contestants: [
      rigContestant(`${others} stalled`, options, true),
      rigContestant('none stalled', options, false),
    ],
    prepare: (rig) => rig.flood(FLOOD_MESSAGES),
    run: async (rig) => quantile(await rig.latenciesMs(messages), 0.99),
  });
}

/** A process that has allocated memory keeps it, so each run has its own server. */
async function bytesPerStalledClient(): Promise<number> {
  await using rig = await openStalledRig({ readers: 1, others: STALLED_FOR_MEMORY });
  await rig.flood(MEMORY_FLOOD_MESSAGES);
  const beforeBytes = await rig.serverBytes();
  rig.freeze();
  await rig.flood(MEMORY_FLOOD_MESSAGES);
  return Math.max(0, (await rig.serverBytes()) - beforeBytes) / STALLED_FOR_MEMORY;
}

export const fairStalledBenches: readonly AnyBench[] = [
  latencyBench('fair-stalled-1-of-100', { readers: 98, others: 1 }, 60),
  latencyBench('fair-stalled-100-of-1000', { readers: 899, others: 100 }, 15),
  defineBench<object>({
    name: 'fair-stalled-memory',
    unit: 'MiB',
    better: 'less',
    about: `memory of the server per stalled client, with ${STALLED_FOR_MEMORY} of them`,
    contestants: [
      { name: 'state service', open: async () => ({ async [Symbol.asyncDispose]() {} }) },
    ],
    bound: { name: 'at most', value: 1 },
    run: async () => (await bytesPerStalledClient()) / MIB,
  }),
];
