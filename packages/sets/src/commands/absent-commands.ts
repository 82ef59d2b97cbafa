// The commands of Redis 7.0 that Syncline does not support, grouped by the reason. The error for such a command gives
// the reason, so that users do not look for a typo; docs/COMMANDS.md shows the same.

interface AbsentCommands {
  readonly title: string;
  /** For the documentation: why, and what to use instead. */
  readonly reason: string;
  /** Follows the error text. Left out where "sets only" says it all. */
  readonly remark?: string;
  /** In lower case, by name. */
  readonly names: readonly string[];
}

const otherTypes = {
  'Strings, bits and counters':
    'append bitcount bitfield bitfield_ro bitop bitpos decr decrby get getbit getdel getex getrange getset incr incrby incrbyfloat lcs mget mset msetnx psetex set setbit setex setnx setrange strlen substr',
  Hashes:
    'hdel hexists hget hgetall hincrby hincrbyfloat hkeys hlen hmget hmset hrandfield hscan hset hsetnx hstrlen hvals',
  Lists:
    'blmove blmpop blpop brpop brpoplpush lindex linsert llen lmove lmpop lpop lpos lpush lpushx lrange lrem lset ltrim rpop rpoplpush rpush rpushx',
  'Sorted sets and geospatial indexes':
    'bzmpop bzpopmax bzpopmin geoadd geodist geohash geopos georadius georadius_ro georadiusbymember georadiusbymember_ro geosearch geosearchstore zadd zcard zcount zdiff zdiffstore zincrby zinter zintercard zinterstore zlexcount zmpop zmscore zpopmax zpopmin zrandmember zrange zrangebylex zrangebyscore zrangestore zrank zrem zremrangebylex zremrangebyrank zremrangebyscore zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan zscore zunion zunionstore',
  Streams:
    'xack xadd xautoclaim xclaim xdel xgroup xinfo xlen xpending xrange xread xreadgroup xrevrange xsetid xtrim',
};

export const absentCommands: readonly AbsentCommands[] = [
  {
    title: 'Expiry',
    reason: 'Sets do not expire. Keep one set per period, and remove the old ones with DEL.',
    remark: 'Sets do not expire.',
    names: list('expire expireat pexpire pexpireat'),
  },
  {
    title: 'Copy and rename',
    reason: 'Use SUNIONSTORE and DEL inside MULTI.',
    remark: 'SUNIONSTORE copies a set.',
    names: list('copy rename renamenx'),
  },
  {
    title: 'Sort',
    reason: 'Sort the members in the client.',
    remark: 'Sort the members in the client.',
    names: list('sort sort_ro'),
  },
  {
    title: 'Dumps',
    reason: 'There is no dump format. Copy the members with SSCAN and SADD.',
    remark: 'There is no dump format; copy the members with SSCAN and SADD.',
    names: list('dump migrate restore restore-asking'),
  },
  {
    title: 'Databases',
    reason: 'There is only database 0.',
    remark: 'There is only database 0.',
    names: list('move swapdb'),
  },
  {
    title: 'Scripts and functions',
    reason: 'There are none. MULTI, WATCH and EXEC run several commands as one.',
    remark: 'There are no scripts; use MULTI and EXEC to run several commands as one.',
    names: list('eval eval_ro evalsha evalsha_ro fcall fcall_ro script'),
  },
  {
    title: 'Publish and subscribe',
    reason: 'There are no channels.',
    remark: 'There are no channels.',
    names: list(
      'psubscribe publish pubsub punsubscribe spublish ssubscribe subscribe sunsubscribe unsubscribe',
    ),
  },
  {
    title: 'Administration and replication',
    reason:
      'Nodes replicate through their own mesh. Stop a server with SIGTERM, save with BGSAVE, monitor it with /metrics and `syncline status`. There is one password and no other user.',
    remark: 'Servers are not administered over RESP: see docs/sets.md, "Operating it".',
    names: list(
      'acl asking failover latency lolwut memory module monitor psync replconf replicaof save shutdown slaveof slowlog sync',
    ),
  },
  ...Object.entries(otherTypes).map(([title, names]) => ({
    title,
    reason: 'Syncline stores sets only.',
    names: list(names),
  })),
  {
    title: 'HyperLogLog',
    reason: 'Syncline stores sets only; SCARD counts exactly.',
    names: list('pfadd pfcount pfdebug pfmerge pfselftest'),
  },
];

const remarks: ReadonlyMap<string, string> = new Map(
  absentCommands.flatMap(({ names, remark }) => names.map((name) => [name, remark ?? ''] as const)),
);

/** Undefined when Redis does not know the name either; empty when there is nothing to add. */
export function absenceRemark(name: string): string | undefined {
  return remarks.get(name.toLowerCase());
}

function list(names: string): readonly string[] {
  return names.split(' ');
}
