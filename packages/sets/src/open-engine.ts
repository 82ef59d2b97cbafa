// Reads what is stored, claims the epoch, folds: after that the sets can be served.

import { setsLimits } from './limits.js';
import type { SetsDeps, SetsOptions } from './sets.js';
import { SetsEngine } from './sets-engine.js';
import { startState } from './start-state.js';
import { TurnShare } from './turn-share.js';

export async function openEngine(deps: SetsDeps, options: SetsOptions): Promise<SetsEngine> {
  const turns = new TurnShare(deps.clock);
  const { state, identity } = await startState({ ...deps, turns }, options);
  const engine = new SetsEngine(
    { ...deps, state, turns },
    {
      identity,
      durability: options.durability ?? 'buffered',
      cacheBytesMax: options.cacheBytesMax ?? setsLimits.cacheBytesMax.value,
    },
  );
  try {
    await engine.folding.foldAll();
  } catch (thrown) {
    engine.dispose();
    throw thrown;
  }
  deps.metrics.set('syncline_sets_epoch', identity.epoch);
  return engine;
}
