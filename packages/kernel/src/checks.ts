// The entry point `@syncline/kernel/checks`: checks of options, arguments and JSON values.
export {
  anyValue,
  type Check,
  type Checked,
  type Checks,
  checkInteger,
  checkKnownKeys,
  checkMembers,
  checkObject,
  checkText,
  checkThat,
  integer,
  invalidArgument,
  isText,
  members,
  oneOf,
  optional,
  orDefault,
  refuseUnless,
} from './checks/check-table.js';
export {
  findJsonProblem,
  isPlainObject,
  type JsonBounds,
  type JsonProblem,
  kindOf,
  withSortedMembers,
} from './checks/json-value.js';
