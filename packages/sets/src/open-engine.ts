// Reads what is stored, claims the epoch, folds: after that the sets can be served.
import { guardStorage } from './guarded-storage.js';
import { setsLimits } from './limits.js';
import type { SetsDeps, SetsOptions } from './sets.js';
import { SetsEngine } from './sets-engine.js';
import { startState } from './start-state.js';
import { TurnShare } from './turn-share.js';

export async function openEngine(deps: SetsDeps, options: SetsOptions): Promise<SetsEngine> {
  const turns = new TurnShare(deps.clock);
  const opened: { engine?: SetsEngine } = {}; // before, damage is thrown, and there is no start
  const storage = guardStorage(deps.storage, (error) => opened.engine?.stopWriting(error));
  const { state, identity } = await startState({ ...deps, storage, turns }, options);
  const engine = new SetsEngine(
    { ...deps, storage, state, turns },
    {
      identity,
      durability: options.durability ?? 'buffered',
      cacheBytesMax: options.cacheBytesMax ?? setsLimits.cacheBytesMax.value,
    },
  );
  opened.engine = engine;
  try {
    await engine.folding.foldAll();
  } catch (thrown) {
    engine.dispose();
    throw thrown;
  }
  deps.metrics.set('syncline_sets_epoch', identity.epoch);
  return engine;
}
