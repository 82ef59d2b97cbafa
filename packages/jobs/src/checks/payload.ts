// Payloads: JSON objects of bounded size and depth.
//
// Everything is looked at before anything is written as JSON, and counted on the way: a value that is shared
// many times over, or cyclic, is refused long before it could fill the memory.
import { SynclineError } from '@syncline/kernel';
import { jobsLimits } from '../limits.js';
import type { SchemaIssue } from '../state.js';
import { limitExceeded } from './refuse.js';

type Path = readonly PropertyKey[];

/** Returns its JSON. Throws `invalid-argument` with `details.issues`, or `limit-exceeded`. */
export function checkPayload(value: unknown): string {
  if (!isPlainObject(value)) throw payloadRefused(`is ${kindOf(value)}, not an object`, []);
  new PayloadWalk().visit(value);
  const json = JSON.stringify(value);
  refuseTooLarge(Buffer.byteLength(json));
  return json;
}

export function payloadRefusal(issues: readonly SchemaIssue[]): SynclineError {
  const [first] = issues;
  const path = (first?.path ?? []).map((step) => (typeof step === 'object' ? step.key : step));
  const where = path.length === 0 ? '' : ` at ${path.map(String).join('.').slice(0, 128)}`;
  return new SynclineError('invalid-argument', `payload${where}: ${first?.message ?? 'refused'}`, {
    details: { field: 'payload', issues },
  });
}

class PayloadWalk {
  /** The objects on the way to the current one, and the names of the members that lead there. */
  readonly #open = new Set<object>();
  readonly #path: PropertyKey[] = [];
  /** What JSON needs at least for what was visited. */
  #bytes = 0;

  visit(value: unknown): void {
    switch (typeof value) {
      case 'string':
        this.#count(value.length + 2);
        return;
      case 'number':
        if (!Number.isFinite(value)) this.#refuse(`is ${value}, not a finite number`);
        this.#count(1);
        return;
      case 'boolean':
        this.#count(4);
        return;
      case 'object':
        if (value === null) this.#count(4);
        else this.#visitInside(value);
        return;
      default:
        this.#refuse(`is ${kindOf(value)}, which JSON cannot hold`);
    }
  }

  #visitInside(value: object): void {
    if (this.#open.has(value)) this.#refuse('contains itself');
    const { value: depthMax } = jobsLimits.payloadDepthMax;
    if (this.#open.size === depthMax)
      this.#refuse(`is more than ${depthMax} objects and lists deep`);
    this.#open.add(value);
    this.#count(2);
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) this.#visitMember(index, value[index]);
    } else if (isPlainObject(value)) {
      for (const name of Object.keys(value)) {
        if (value[name] === undefined) continue;
        this.#count(name.length + 3);
        this.#visitMember(name, value[name]);
      }
    } else {
      this.#refuse(`is ${kindOf(value)}, which JSON cannot hold`);
    }
    this.#open.delete(value);
  }

  #visitMember(name: PropertyKey, value: unknown): void {
    this.#path.push(name);
    this.visit(value);
    this.#path.pop();
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    refuseTooLarge(this.#bytes);
  }

  #refuse(message: string): never {
    throw payloadRefused(message, [...this.#path]);
  }
}

export function refuseTooLarge(bytes: number): void {
  const { value: bytesMax } = jobsLimits.payloadBytesMax;
  if (bytes <= bytesMax) return;
  const story = `a payload of ${bytes} bytes or more as JSON; ${bytesMax} is the limit. Store it elsewhere and keep a reference here.`;
  throw limitExceeded('payloadBytesMax', story);
}

function payloadRefused(message: string, path: Path): SynclineError {
  return payloadRefusal([{ message, path }]);
}

/** A Date, a Map or a class would not come back as what it was. */
function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  return isPlain && typeof Reflect.get(value, 'toJSON') !== 'function';
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value !== 'object') return `a ${typeof value}`;
  const name = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return name === 'Object' ? 'an instance of a class' : `a ${name}`;
}
