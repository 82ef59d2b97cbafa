// The architecture test, as a list.
import type { Rule } from '../repository/rule.js';
import { doorsAreLists } from './doors.js';
import { importCycles } from './import-cycles.js';
import { importDirection, noDeepImport } from './import-direction.js';
import { declaredImports, doorsMatch, exactVersions, oneVersion } from './manifests.js';

export const architectureRules: readonly Rule[] = [
  declaredImports,
  doorsAreLists,
  doorsMatch,
  exactVersions,
  importCycles,
  importDirection,
  noDeepImport,
  oneVersion,
];
