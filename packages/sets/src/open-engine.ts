// Reads what is stored and claims the epoch: after that the sets can be served.
//
// What the journal held is folded meanwhile; on a disk without room that would not end. Only in class synced
// it is waited for: a synced record must not lie behind one that an earlier run has only buffered.
import { guardStorage } from './guarded-storage.js';
import { setsLimits } from './limits.js';
import type { SetsDeps, SetsOptions } from './sets.js';
import { SetsEngine } from './sets-engine.js';
import { startState } from './start-state.js';
import { TurnShare } from './turn-share.js';

export async function openEngine(deps: SetsDeps, options: SetsOptions): Promise<SetsEngine> {
  const { durability = 'buffered' } = options;
  const turns = new TurnShare(deps.clock);
  const opened: { engine?: SetsEngine } = {}; // before, damage is thrown, and there is no start
  const storage = guardStorage(deps.storage, (error) => opened.engine?.stopWriting(error));
  const { state, identity } = await startState({ ...deps, storage, turns }, options);
  const engine = new SetsEngine(
    { ...deps, storage, state, turns },
    {
      identity,
      durability,
      cacheBytesMax: options.cacheBytesMax ?? setsLimits.cacheBytesMax.value,
    },
  );
  opened.engine = engine;
  if (durability === 'synced') await foldFirst(engine);
  else engine.folding.start();
  deps.metrics.set('syncline_sets_epoch', identity.epoch);
  return engine;
}

async function foldFirst(engine: SetsEngine): Promise<void> {
  try {
    await engine.folding.foldAll();
  } catch (thrown) {
    engine.dispose();
    throw thrown;
  }
}
