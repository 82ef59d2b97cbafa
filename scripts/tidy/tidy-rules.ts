// The tidy test, as a list. What linters can check is left to them; these are the conventions of this
// repository.
import type { Rule } from '../repository/rule.js';
import { fileNames } from './file-names.js';
import { headComment } from './head-comment.js';
import { hiddenWorld } from './hidden-world.js';
import { linksResolve, oneHeading } from './markdown.js';
import { outsideReferences } from './outside-references.js';
import { reminders } from './reminders.js';
import { fileSize } from './sizes.js';

export const tidyRules: readonly Rule[] = [
  fileNames,
  fileSize,
  headComment,
  hiddenWorld,
  linksResolve,
  oneHeading,
  outsideReferences,
  reminders,
];
