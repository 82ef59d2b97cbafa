import { SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { CommandRig } from '../testing/command-rig.js';

test('AFTER waits until this node has applied the version', async () => {
  const rig = new CommandRig();
  const other = new CommandRig({ keyspace: rig.keyspace });
  const waiting = rig.send('SYNCLINE.READ', 'AFTER', '1.0:1', 'TIMEOUT', '100', 'SCARD', 'k');
  expect(rig.facts.blockedQuota.used).toBe(1);
  await other.send('SADD', 'k', 'a');
  expect(await waiting).toEqual({ kind: 'integer', value: 1 });
  expect(rig.facts.blockedQuota.used).toBe(0);
});

test('it ends when the client has gone, and a bug is not mistaken for that', async () => {
  const rig = new CommandRig();
  const words = ['SYNCLINE.READ', 'AFTER', '1.0:1', 'TIMEOUT', '100', 'SCARD', 'k'];
  const waiting = rig.send(...words);
  rig.gone.abort();
  expect(await waiting).toMatchObject({ text: 'ERR SYNCLINE.READ was aborted' });
  rig.keyspace.whenApplied = () => Promise.reject(new TypeError('a bug'));
  await expect(rig.send(...words)).rejects.toThrow('a bug');
  expect(rig.facts.blockedQuota.used).toBe(0);
});

test('S10 blocked commands have a limit that all connections share', async () => {
  const rig = new CommandRig();
  rig.facts.blockedQuota.tryTake(10_000);
  expect(await rig.text('SYNCLINE.READ', 'AFTER', '1.0:1', 'TIMEOUT', '1', 'SCARD', 'k')).toBe(
    'ERR more than 10000 commands are blocked, try again later',
  );
});

test('a read-only command of any size runs inside', async () => {
  const rig = new CommandRig();
  await rig.send('SADD', 'k', ...Array.from({ length: 20_000 }, (_, number) => `m${number}`));
  const shown = await rig.send('SYNCLINE.READ', 'WITHVV', 'SMEMBERS', 'k');
  expect(shown).toMatchObject({ kind: 'array', items: [{ text: '1.0:1' }, { kind: 'set' }] });
  expect(await rig.text('SYNCLINE.READ', 'SADD', 'k', 'b')).toMatch(
    /requires a read-only command$/,
  );
  rig.keyspace.openPin = () => {
    throw new SynclineError('overloaded', 'too many pins');
  };
  expect(await rig.text('SYNCLINE.READ', 'SMEMBERS', 'k')).toBe('ERR too many pins');
});
