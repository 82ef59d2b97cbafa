import { actorId, VersionVector } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { SetsState } from '../engine/sets-state.js';
import { createOrderKeys } from '../memory/order-hash.js';
import { PayloadWriter } from './payload.js';
import { RepairPart, RepairReplay, repairEnd, repairHead } from './repair.js';

const actor = actorId(2, 0);
const version = VersionVector.of({ actor, counter: 1 });

function partWith(member: string, counter: number): Uint8Array {
  const writer = new PayloadWriter();
  writer.add(Buffer.from('set'), Buffer.from(member), { actor, counter });
  return Buffer.concat([repairHead(RepairPart.add, 0), writer.take(0, false)]);
}

test('S34 a replay undoes a repair that has no end, even if one without parts follows', () => {
  const state = new SetsState(createOrderKeys('test'));
  const replay = new RepairReplay(state);
  replay.part(partWith('half', 2));
  expect(state.digest.liveDots).toBe(1);
  replay.end(Buffer.concat(repairEnd(0, version)));
  expect(state.digest.liveDots).toBe(0);
  expect(state.version.counterOf(actor)).toBe(1);
});

test('S34 the end of a repair must follow all of its parts', () => {
  const replay = new RepairReplay(new SetsState(createOrderKeys('test')));
  replay.part(partWith('first', 1));
  expect(() => replay.end(Buffer.concat(repairEnd(2, version)))).toThrow(
    /part of a repair is missing/,
  );
});
