// A Redis in memory that outlives the simulated processes around it. It runs the scripts of the Redis sinks as
// they are, in a Lua interpreter, each in one step, as Redis does; and knows the few commands that they use.
import { createHash } from 'node:crypto';
import { assert } from '@syncline/kernel';
import { to_jsstring as fromLua, lauxlib, lua, lualib, to_luastring as toLua } from 'fengari';
import type { Redis } from 'ioredis';

type Reply = string | number | null | readonly Reply[];
type LuaState = ReturnType<typeof lauxlib.luaL_newstate>;

/** Redis has this function, as Lua 5.1 did. */
const PRELUDE = 'unpack = table.unpack';

export class SimulatedRedis {
  readonly #hashes = new Map<string, Map<string, string>>();
  readonly #values = new Map<string, string>();
  readonly #streams = new Map<string, { readonly id: string; readonly fields: string[] }[]>();
  readonly #scripts = new Map<string, string>();
  readonly #state: LuaState = lauxlib.luaL_newstate();

  constructor() {
    lualib.luaL_openlibs(this.#state);
    lauxlib.luaL_dostring(this.#state, toLua(PRELUDE));
    lua.lua_newtable(this.#state);
    for (const name of ['call', 'pcall'] as const) {
      lua.lua_pushcfunction(this.#state, (state: LuaState) => this.#luaCall(state, name));
      lua.lua_setfield(this.#state, -2, toLua(name));
    }
    lua.lua_setglobal(this.#state, toLua('redis'));
  }

  /** For the `client` option of a sink. */
  readonly client = (): Redis => {
    const client = {
      on: () => client,
      connect: async () => {},
      disconnect: () => {},
      callBuffer: async (name: string, args: readonly unknown[]) =>
        asBuffers(this.#run(name, args.map(String))),
    };
    return client as unknown as Redis;
  };

  /** The entries of a stream, one line each. */
  entriesOf(stream: string): readonly string[] {
    return (this.#streams.get(stream) ?? []).map(({ id, fields }) => `${id} ${fields.join(' ')}`);
  }

  /** Keys with this prefix and their values, in the order of the keys. */
  valuesOf(prefix: string): readonly string[] {
    const found = [...this.#values].filter(([key]) => key.startsWith(prefix));
    return found.map(([key, value]) => `${key} ${value}`).sort();
  }

  hashOf(key: string): ReadonlyMap<string, string> {
    return this.#hashes.get(key) ?? new Map();
  }

  #run(name: string, [key = '', ...rest]: readonly string[]): Reply {
    switch (name) {
      case 'EVAL':
        this.#scripts.set(createHash('sha1').update(key).digest('hex'), key);
        return this.#evaluate(key, rest);
      case 'EVALSHA': {
        const script = this.#scripts.get(key);
        if (script === undefined) throw replyError('NOSCRIPT No matching script');
        return this.#evaluate(script, rest);
      }
      default: {
        const command = this.#commands[name];
        assert(command !== undefined, `the simulated Redis does not support ${name}`);
        return command(key, rest);
      }
    }
  }

  readonly #commands: Readonly<Record<string, (key: string, rest: readonly string[]) => Reply>> = {
    HMGET: (key, fields) => fields.map((field) => this.#hashes.get(key)?.get(field) ?? null),
    HSET: (key, pairs) => {
      for (let at = 0; at < pairs.length; at += 2) {
        this.#hash(key).set(pairs[at] ?? '', pairs[at + 1] ?? '');
      }
      return pairs.length / 2;
    },
    HINCRBY: (key, [field = '', by]) => {
      const sum = Number(this.#hash(key).get(field) ?? 0) + Number(by);
      this.#hash(key).set(field, String(sum));
      return sum;
    },
    SET: (key, [value = '']) => {
      this.#values.set(key, value);
      return 'OK';
    },
    DEL: (key) => (this.#values.delete(key) ? 1 : 0),
    EXISTS: (key) => (this.#streams.has(key) ? 1 : 0),
    XINFO: (_, [stream = '']) => [
      'last-generated-id',
      this.#streams.get(stream)?.at(-1)?.id ?? '0-0',
    ],
    XADD: (key, entry) => this.#append(key, entry),
  };

  #hash(key: string): Map<string, string> {
    const hash = this.#hashes.get(key) ?? new Map<string, string>();
    this.#hashes.set(key, hash);
    return hash;
  }

  #append(key: string, [id = '', ...fields]: readonly string[]): string {
    const entries = this.#streams.get(key) ?? [];
    const parts = (of: string) => of.split('-').map(Number) as [number, number];
    const [time, sequence] = parts(id);
    const [topTime, topSequence] = parts(entries.at(-1)?.id ?? '0-0');
    if (time < topTime || (time === topTime && sequence <= topSequence && entries.length > 0)) {
      throw replyError(
        'ERR The ID specified in XADD is equal or smaller than the target stream top item',
      );
    }
    entries.push({ id, fields });
    this.#streams.set(key, entries);
    return id;
  }

  #evaluate(script: string, [count = '0', ...args]: readonly string[]): Reply {
    const state = this.#state;
    const keys = args.slice(0, Number(count));
    for (const [name, list] of [
      ['KEYS', keys],
      ['ARGV', args.slice(keys.length)],
    ] as const) {
      push(state, list);
      lua.lua_setglobal(state, toLua(name));
    }
    const failed =
      lauxlib.luaL_loadstring(state, toLua(script)) !== lua.LUA_OK ||
      lua.lua_pcall(state, 0, 1, 0) !== lua.LUA_OK;
    const reply = read(state, -1);
    lua.lua_pop(state, 1);
    if (failed) throw replyError(`ERR ${String(reply)}`);
    return reply;
  }

  /** `redis.call` and `redis.pcall`. */
  #luaCall(state: LuaState, name: 'call' | 'pcall'): number {
    const words = Array.from({ length: lua.lua_gettop(state) }, (_, at) => read(state, at + 1));
    try {
      const [command, ...args] = words.map(String);
      push(state, this.#run(command ?? '', args));
    } catch (thrown) {
      const { message } = thrown as Error;
      if (name === 'call') return lauxlib.luaL_error(state, toLua(message));
      lua.lua_newtable(state);
      push(state, message);
      lua.lua_setfield(state, -2, toLua('err'));
    }
    return 1;
  }
}

function push(state: LuaState, reply: Reply): void {
  if (reply === null) lua.lua_pushboolean(state, false);
  else if (typeof reply === 'number') lua.lua_pushinteger(state, reply);
  else if (typeof reply === 'string') lua.lua_pushstring(state, toLua(reply));
  else {
    lua.lua_newtable(state);
    for (const [index, each] of reply.entries()) {
      push(state, each);
      lua.lua_rawseti(state, -2, index + 1);
    }
  }
}

function read(state: LuaState, at: number): Reply {
  switch (lua.lua_type(state, at)) {
    case lua.LUA_TNUMBER:
      return lua.lua_tonumber(state, at);
    case lua.LUA_TSTRING:
      return fromLua(lua.lua_tostring(state, at));
    case lua.LUA_TTABLE: {
      const length = lua.lua_rawlen(state, at);
      const table = lua.lua_absindex(state, at);
      return Array.from({ length }, (_, index) => {
        lua.lua_rawgeti(state, table, index + 1);
        const each = read(state, -1);
        lua.lua_pop(state, 1);
        return each;
      });
    }
    default:
      return null;
  }
}

function asBuffers(reply: Reply): unknown {
  if (typeof reply === 'string') return Buffer.from(reply);
  return Array.isArray(reply) ? reply.map((each: Reply) => asBuffers(each)) : reply;
}

function replyError(message: string): Error {
  const error = new Error(message);
  error.name = 'ReplyError';
  return error;
}
