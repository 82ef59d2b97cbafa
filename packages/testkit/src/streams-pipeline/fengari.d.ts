// The part of fengari that the simulated Redis uses; it has no types of its own.
declare module 'fengari' {
  type State = { readonly isLuaState: true };
  type Text = Uint8Array;
  export const lua: {
    readonly LUA_OK: number;
    readonly LUA_TNUMBER: number;
    readonly LUA_TSTRING: number;
    readonly LUA_TTABLE: number;
    lua_absindex(state: State, index: number): number;
    lua_gettop(state: State): number;
    lua_newtable(state: State): void;
    lua_pcall(state: State, args: number, results: number, handler: number): number;
    lua_pop(state: State, count: number): void;
    lua_pushboolean(state: State, value: boolean): void;
    lua_pushcfunction(state: State, call: (state: State) => number): void;
    lua_pushinteger(state: State, value: number): void;
    lua_pushstring(state: State, value: Text): void;
    lua_rawgeti(state: State, index: number, at: number): number;
    lua_rawlen(state: State, index: number): number;
    lua_rawseti(state: State, index: number, at: number): void;
    lua_setfield(state: State, index: number, name: Text): void;
    lua_setglobal(state: State, name: Text): void;
    lua_tonumber(state: State, index: number): number;
    lua_tostring(state: State, index: number): Text;
    lua_type(state: State, index: number): number;
  };
  export const lauxlib: {
    luaL_dostring(state: State, text: Text): boolean;
    luaL_error(state: State, text: Text): number;
    luaL_loadstring(state: State, text: Text): number;
    luaL_newstate(): State;
  };
  export const lualib: { luaL_openlibs(state: State): void };
  export function to_jsstring(text: Text): string;
  export function to_luastring(text: string): Text;
}
