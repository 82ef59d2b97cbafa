// Runs one history: all actors at once, then a closing write of every cell, then every reader is drained and
// everything that was seen is checked.
import type { CaseContext } from '../job-store-subject.js';
import { checkTrace } from '../trace/check-trace.js';
import { checkCommitted } from '../trace/committed-log.js';
import { formatTrace, type JobTrace } from '../trace/job-trace.js';
import { runFaults, runOperator } from './history-operator.js';
import type { ActorPlan, HistoryPlan } from './history-plan.js';
import { HistoryProber } from './history-prober.js';
import { HistoryReader } from './history-reader.js';
import { HistoryWorld } from './history-world.js';
import { HistoryWriter } from './history-writer.js';

export interface HistoryOutcome {
  /** Empty if there is no problem. */
  readonly problems: readonly string[];
  /** The streams that have a problem, as text. */
  readonly traces: readonly string[];
  /** Kinds of events that occurred, and reasons of gaps: what the history has reached. */
  readonly reached: ReadonlySet<string>;
}

export async function runHistory(context: CaseContext, plan: HistoryPlan): Promise<HistoryOutcome> {
  const world = new HistoryWorld(context, plan);
  await world.ensureJob();
  const readers = ofKind(plan, 'reader').map((actor) => new HistoryReader(world, actor));
  const prober = new HistoryProber(world);
  let isOver = false;
  const reading = Promise.all(readers.map((reader) => reader.run(() => isOver)));
  try {
    await Promise.all([
      ...ofKind(plan, 'writer').map((actor) => new HistoryWriter(world, actor).run(actor.steps)),
      ...ofKind(plan, 'prober').map((actor) => prober.run(actor.steps)),
      ...ofKind(plan, 'operator').map((actor) => runOperator(world, actor.steps)),
      ...ofKind(plan, 'faults').map((actor) => runFaults(world, actor.steps)),
    ]);
    await writeLast(world);
  } finally {
    isOver = true;
    await reading;
  }
  await Promise.all(readers.map((reader) => reader.drain()));
  return outcomeOf(world, prober);
}

/** Every task is claimed without a ttl and every cell is written: each scope has something to wait for. */
async function writeLast(world: HistoryWorld): Promise<void> {
  const { numTasks, tags } = world.plan;
  for (let taskId = 0; taskId < numTasks; taskId += 1) {
    const writer = new HistoryWriter(world, { taskId, ttlMs: 0 });
    for (const tag of tags) await writer.writeUntilApplied(tag, 2_147_483_647);
  }
}

function outcomeOf(world: HistoryWorld, prober: HistoryProber): HistoryOutcome {
  const { log, context, plan } = world;
  const { history } = context.capabilities;
  const events = world.traces.flatMap(({ parts }) => parts.flatMap((part) => part.events));
  for (const event of events) if (event.kind === 'job') log.addEvent(event);
  for (const event of events) if (world.mayBeTrue(event)) log.addEvent(event);
  // Every writer learns the revision of its change, whatever the history of streams. No one is informed of lost
  // leases.
  const hasLeases = ofKind(plan, 'writer').some(({ ttlMs }) => ttlMs > 0);
  const mayMiss = world.hasLostAnswers || hasLeases;
  const traces = world.traces.map((trace): JobTrace => ({ ...trace, log, history }));
  const wrong = traces.filter((trace) => checkTrace(trace).length > 0);
  const problems = [
    ...world.problems,
    ...checkCommitted(log, { mayMiss, history }),
    ...wrong.flatMap(checkTrace),
    ...prober.check({ mayMiss }),
  ];
  const reached = events.map((event) =>
    event.kind === 'gap' ? `gap ${event.reason}` : event.kind,
  );
  return { problems, traces: wrong.map(formatTrace), reached: new Set(reached) };
}

function ofKind<Kind extends ActorPlan['kind']>(
  plan: HistoryPlan,
  kind: Kind,
): readonly Extract<ActorPlan, { kind: Kind }>[] {
  return plan.actors.filter(
    (actor): actor is Extract<ActorPlan, { kind: Kind }> => actor.kind === kind,
  );
}
