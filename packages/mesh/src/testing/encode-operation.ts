// Operations for tests, with any fields.
import { type Dot, VersionVector } from '@syncline/kernel';
import { WireWriter } from '@syncline/kernel/wire';

export interface OperationFields {
  readonly dot: Dot;
  readonly count: number;
  readonly dependencies?: VersionVector | undefined;
  readonly body?: Uint8Array;
}

/** As it stands in an Operations message: with tag and length. */
export function encodeOperation({ dot, count, dependencies, body }: OperationFields): Uint8Array {
  const writer = new WireWriter();
  const start = writer.begin(1);
  writer.bytes(1, VersionVector.of(dot).toBytes());
  writer.uint(2, count);
  writer.bytes(3, dependencies?.toBytes() ?? new Uint8Array(0));
  writer.bytes(4, body ?? new Uint8Array(0));
  writer.end(start);
  return writer.copy();
}
