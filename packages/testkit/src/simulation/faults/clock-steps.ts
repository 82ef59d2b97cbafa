// Clocks that are set forward and back, and that run too fast or too slow.
import type { Workload } from '../workload.js';
import { pauseBetween, pickTarget } from './fault-pace.js';

const BETWEEN_MS = [200, 8_000] as const;
const STEP_MS_MAX = 3_600_000;
const DRIFT_PPM_MAX = 500;

export const clockSteps: Workload = {
  name: 'clock-steps',
  async start(context, signal) {
    const { random } = context;
    const signed = (most: number) => most ** random.float() * (random.float() < 0.5 ? -1 : 1);
    while (await pauseBetween(context, BETWEEN_MS, signal)) {
      const clock = pickTarget(context)?.clock;
      if (random.float() < 0.7) clock?.step(signed(STEP_MS_MAX));
      else clock?.setDrift(signed(DRIFT_PPM_MAX));
    }
  },
};
