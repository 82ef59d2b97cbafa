// Operations for tests, with any fields.
import { type Dot, VersionVector } from '@syncline/kernel';
import { WireWriter } from '../wire.js';

export interface OperationFields {
  readonly dot: Dot;
  readonly count: number;
  readonly dependencies?: VersionVector | undefined;
  readonly body?: Uint8Array;
}

/** As it stands in an Operations message: with tag and length. */
export function encodeOperation({ dot, count, dependencies, body }: OperationFields): Uint8Array {
  const fields = new WireWriter()
    .bytes(1, VersionVector.of(dot).toBytes())
    .number(2, count)
    .bytes(3, dependencies?.toBytes() ?? new Uint8Array(0))
    .bytes(4, body ?? new Uint8Array(0));
  return new WireWriter().message(1, fields).finish();
}
