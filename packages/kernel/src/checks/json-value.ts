// Finds what keeps a value from surviving a round trip through JSON, before anything is serialized: `JSON.stringify`
// would silently change it (NaN to null, a Date to a string, a Map to {}). The size is counted on the way, so a value
// that contains itself, or the same object very often, is rejected before it can exhaust memory.

export type JsonBounds = Readonly<{ bytesMax: number; depthMax: number }>;

export interface JsonProblem {
  /** The names and indexes that lead to the part in question. */
  readonly path: PropertyKey[];
  /** What is wrong with that part: `is a Date, which JSON cannot hold`. */
  readonly message: string;
  /** Set if the value is too large: a lower bound of its size as JSON. */
  readonly bytes?: number;
}

export function findJsonProblem(
  value: unknown,
  { bytesMax, depthMax }: JsonBounds,
): JsonProblem | undefined {
  let bytes = 0;
  /** The objects that lead to the current one. */
  const open: object[] = [];

  const visit = (part: unknown): JsonProblem | undefined => {
    bytes += typeof part === 'string' ? part.length + 2 : 1;
    if (bytes > bytesMax) return { path: [], message: `has more than ${bytesMax} bytes`, bytes };
    switch (typeof part) {
      case 'string':
      case 'boolean':
        return undefined;
      case 'number':
        return Number.isFinite(part) ? undefined : unfit(String(part));
      case 'object':
        return part === null ? undefined : visitInside(part);
      default:
        return unfit(kindOf(part));
    }
  };

  const visitMember = (name: PropertyKey, member: unknown): JsonProblem | undefined => {
    const problem = visit(member);
    problem?.path.unshift(name);
    return problem;
  };

  const visitInside = (part: object): JsonProblem | undefined => {
    if (open.includes(part)) return { path: [], message: 'contains itself' };
    if (open.length === depthMax)
      return { path: [], message: `is nested more than ${depthMax} levels deep` };
    let problem: JsonProblem | undefined;
    open.push(part);
    if (Array.isArray(part)) {
      // By index, since iteration methods skip holes, which JSON would turn into null.
      for (let index = 0; index < part.length && !problem; index += 1)
        problem = visitMember(index, part[index]);
    } else if (isPlainObject(part)) {
      for (const name of Object.keys(part)) {
        if (part[name] === undefined) continue;
        bytes += name.length + 3;
        problem = visitMember(name, part[name]);
        if (problem) break;
      }
    } else problem = unfit(kindOf(part));
    open.pop();
    return problem;
  };

  return visit(value);
}

function unfit(what: string): JsonProblem {
  return { path: [], message: `is ${what}, which JSON cannot hold` };
}

/** A Date, a Map or a class instance would not survive a round trip through JSON. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  return isPlain && typeof Reflect.get(value, 'toJSON') !== 'function';
}

/** For error messages: `a number`, `a list`, `a Date`. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value !== 'object') return `a ${typeof value}`;
  const name = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return name === 'Object' ? 'an instance of a class' : `a ${name}`;
}

/** The members of every object sorted by name, without undefined ones; the same value if that changes nothing. */
export function withSortedMembers(value: unknown): unknown {
  if (isSorted(value)) return value;
  if (Array.isArray(value)) return value.map(withSortedMembers);
  const object = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(object).filter((name) => object[name] !== undefined);
  return Object.fromEntries(names.sort().map((name) => [name, withSortedMembers(object[name])]));
}

/** Most values are sorted, so the check allocates nothing. */
function isSorted(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isSorted);
  let before: string | undefined;
  for (const name of Object.keys(value)) {
    const member: unknown = Reflect.get(value, name);
    if (member === undefined || (before !== undefined && name < before)) return false;
    if (!isSorted(member)) return false;
    before = name;
  }
  return true;
}
