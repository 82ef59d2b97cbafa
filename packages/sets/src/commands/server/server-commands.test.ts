import { SynclineError } from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import { CommandRig } from '../testing/command-rig.js';

async function infoOf(rig: CommandRig, ...sections: readonly string[]) {
  const text = await rig.text('INFO', ...sections);
  const lines = text.split('\r\n').filter((line) => line.includes(':'));
  return Object.fromEntries(lines.map((line) => line.split(':', 2) as [string, string]));
}

describe('INFO', () => {
  test('shows memory under the names of Redis', async () => {
    const rig = new CommandRig();
    await rig.send('CONFIG', 'SET', 'maxmemory', '3mb');
    expect(await infoOf(rig, 'memory')).toEqual({
      used_memory: '2048',
      used_memory_human: '2.00K',
      used_memory_rss: '6144',
      used_memory_rss_human: '6.00K',
      used_memory_peak: '4096',
      used_memory_peak_human: '4.00K',
      used_memory_overhead: '1024',
      used_memory_dataset: '1024',
      maxmemory: '3145728',
      maxmemory_human: '3.00M',
      maxmemory_policy: 'noeviction',
      mem_fragmentation_ratio: '3.00',
    });
  });

  test('shows the log and the checkpoints under the names of Redis', async () => {
    const rig = new CommandRig();
    expect(await infoOf(rig, 'persistence')).toEqual({
      loading: '0',
      async_loading: '0',
      rdb_changes_since_last_save: '5',
      rdb_bgsave_in_progress: '0',
      rdb_last_save_time: '1600000000',
      rdb_last_bgsave_status: 'ok',
      rdb_last_bgsave_time_sec: '3',
      rdb_current_bgsave_time_sec: '-1',
      aof_enabled: '1',
      aof_rewrite_in_progress: '0',
      aof_last_bgrewrite_status: 'ok',
      aof_last_write_status: 'ok',
      aof_current_size: '100',
      aof_base_size: '50',
      aof_fsync: 'everysec',
      log_records: '7',
      log_unsynced_records: '2',
    });
    const { persistence } = rig.state;
    const checkpoint = { ...persistence.checkpoint, isRunning: true, currentSeconds: 2.2 };
    rig.state.persistence = { ...persistence, isEnabled: false, checkpoint };
    const running = await infoOf(rig, 'persistence');
    expect(running).toMatchObject({ rdb_bgsave_in_progress: '1', aof_rewrite_in_progress: '1' });
    expect(running).toMatchObject({ rdb_current_bgsave_time_sec: '2', aof_enabled: '0' });
    expect(running).not.toHaveProperty('aof_current_size');
  });

  test('shows the progress of loading, and nothing that is not loaded yet', async () => {
    const rig = new CommandRig();
    rig.keyspace.digest = rig.keyspace.setsCount = () => {
      throw new Error('not loaded yet');
    };
    rig.state.phase = 'loading';
    const loading = { startedMs: 1_700_000_000_500 - 30_000, loadedBytes: 250, totalBytes: 1_000 };
    rig.state.persistence = { ...rig.state.persistence, loading };
    expect(await infoOf(rig)).toMatchObject({
      redis_version: '7.0.15',
      loading: '1',
      loading_start_time: '1699999970',
      loading_total_bytes: '1000',
      loading_loaded_bytes: '250',
      loading_loaded_perc: '25.00',
      loading_eta_seconds: '90',
      epoch: '0',
    });
  });
});

test('commands that clients need to connect work while loading, and those that read sets do not', async () => {
  const rig = new CommandRig();
  rig.state.phase = 'loading';
  const answered = ['PING', 'HELLO', 'INFO', 'CLIENT ID', 'CONFIG GET save', 'COMMAND COUNT'];
  for (const line of [...answered, 'LASTSAVE', 'AUTH default x', 'TIME', 'ECHO x'])
    expect(await rig.text(...line.split(' ')), line).not.toMatch(/^LOADING/);
  const refused = ['SADD k a', 'SCARD k', 'KEYS *', 'DBSIZE', 'BGSAVE', 'SYNCLINE.VV', 'WAIT 0 0'];
  for (const line of refused)
    expect(await rig.text(...line.split(' ')), line).toBe('LOADING Syncline is loading its sets');
});

describe('BGSAVE, BGREWRITEAOF and LASTSAVE', () => {
  test.each([
    ['started', 'Background saving started', 'Background append only file rewriting started'],
    [
      'running',
      'ERR Background save already in progress',
      'ERR Background append only file rewriting already in progress',
    ],
    [
      'nothing-to-write-to',
      'ERR this server runs with --memory and has no disk to save to',
      'ERR this server runs with --memory and has no disk to save to',
    ],
    ['failed', 'MISCONF the disk is gone', 'MISCONF the disk is gone'],
    ['closing', 'ERR server is shutting down', 'ERR server is shutting down'],
  ] as const)('a checkpoint that is %s', async (outcome, bgsave, bgrewriteaof) => {
    const rig = new CommandRig();
    rig.state.checkpoint = outcome;
    if (outcome === 'failed')
      rig.state.failure = new SynclineError('storage-failed', 'the disk is gone');
    expect(await rig.text('BGSAVE')).toBe(bgsave);
    expect(await rig.text('BGSAVE', 'schedule')).toBe(bgsave);
    expect(await rig.text('BGREWRITEAOF')).toBe(bgrewriteaof);
  });

  test('LASTSAVE is in seconds, and other arguments are a syntax error', async () => {
    const rig = new CommandRig();
    expect(await rig.send('LASTSAVE')).toEqual({ kind: 'integer', value: 1_600_000_000 });
    expect(await rig.text('BGSAVE', 'now')).toBe('ERR syntax error');
    expect(await rig.text('SAVE')).toMatch(/^ERR unknown command 'SAVE'/);
  });
});

describe('CONFIG', () => {
  test.each([
    ['0', '0'],
    ['1000', '1000'],
    ['100b', '100'],
    ['2k', '2000'],
    ['2KB', '2048'],
    ['2m', '2000000'],
    ['2mb', '2097152'],
    ['2g', '2000000000'],
    ['2Gb', '2147483648'],
  ])('maxmemory %s is %s bytes', async (given, bytes) => {
    const rig = new CommandRig();
    expect(await rig.text('CONFIG', 'SET', 'maxmemory', given)).toBe('OK');
    expect(await rig.send('CONFIG', 'GET', 'maxmemory')).toEqual({
      kind: 'map',
      items: [
        { kind: 'bulk', text: 'maxmemory' },
        { kind: 'bulk', text: bytes },
      ],
    });
  });

  test.each(['', '-1', '1x', '1.5g', 'kb', '99999999999999999', '9999999999gb'])(
    'maxmemory %j is refused, with everything else in the command',
    async (given) => {
      const rig = new CommandRig();
      const words = ['appendfsync', 'always', 'maxmemory', given];
      expect(await rig.text('CONFIG', 'SET', ...words)).toBe(
        "ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value",
      );
      expect(rig.state.durability).toBe('buffered');
    },
  );

  test('appendfsync and timeout take effect, inside a transaction too', async () => {
    const rig = new CommandRig();
    await rig.send('MULTI');
    await rig.send('CONFIG', 'SET', 'appendfsync', 'always', 'timeout', '7');
    expect((await rig.send('EXEC'))?.kind).toBe('array');
    expect([rig.state.durability, rig.facts.idleTimeoutSeconds]).toEqual(['synced', 7]);
  });
});
