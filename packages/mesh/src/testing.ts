export {
  AddOnlySlice,
  type AddOnlySliceOptions,
  type SliceDisk,
} from './testing/add-only-slice.js';
