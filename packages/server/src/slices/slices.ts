// The slices that a server runs.
import type { Slice } from '../slice.js';
import { createFairSlice } from './fair/fair-slice.js';
import { createJobsSlice } from './jobs/jobs-slice.js';
import { createSetsSlice } from './sets/sets-slice.js';
import { createStreamsSlice } from './streams/streams-slice.js';

export function createSlices(): readonly Slice[] {
  return [createFairSlice(), createJobsSlice(), createSetsSlice(), createStreamsSlice()];
}
