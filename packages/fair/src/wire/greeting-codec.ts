// Hello and Welcome, between values and bytes. They are sent once per stream, so this need not be fast.
//
// A field of a message that comes twice is merged, as protobuf says: that is why the readers take what
// was read before.
import type { WireReader, WireWriter } from '@syncline/kernel/wire';
import type { Hello, Welcome, WireTrackerConfig } from './sync-messages.js';

type Draft<T> = { -readonly [Name in keyof T]: T[Name] };

const noConfig: WireTrackerConfig = {
  levels: 0,
  columns: 0,
  policy: 0,
  ratePerSecond: 0,
  windowMs: 0,
  hash: 0,
  keyCheck: 0n,
  increment: 0,
  decrement: 0,
};

export const noHello: Hello = { tracker: '', clientId: '', config: noConfig, lastEpoch: 0 };

const noWelcome: Welcome = {
  epoch: 0,
  activeInstances: 0,
  serverTimeMs: 0,
  wantView: false,
  maxElements: 0,
};

export function readHello(reader: WireReader, before: Hello): Hello {
  const hello: Draft<Hello> = { ...before };
  const outerEnd = reader.enter();
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    switch (field) {
      case 1:
        hello.tracker = reader.text();
        break;
      case 2:
        hello.clientId = reader.text();
        break;
      case 3:
        hello.config = readConfig(reader, hello.config);
        break;
      case 4:
        hello.lastEpoch = reader.uintOrInfinity();
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outerEnd);
  return hello;
}

export function writeHello(writer: WireWriter, hello: Hello): void {
  writer.text(1, hello.tracker);
  writer.text(2, hello.clientId);
  const start = writer.begin(3);
  const { config } = hello;
  writer.uint(1, config.levels);
  writer.uint(2, config.columns);
  writer.int32(3, config.policy);
  writer.double(4, config.ratePerSecond);
  writer.uint(5, config.windowMs);
  writer.int32(6, config.hash);
  writer.fixed64(7, config.keyCheck);
  writer.double(8, config.increment);
  writer.double(9, config.decrement);
  writer.end(start);
  writer.uint(4, hello.lastEpoch);
}

export function readWelcome(reader: WireReader, before: Welcome = noWelcome): Welcome {
  const welcome: Draft<Welcome> = { ...before };
  const outerEnd = reader.enter();
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    switch (field) {
      case 1:
        welcome.epoch = reader.uintOrInfinity();
        break;
      case 2:
        welcome.activeInstances = reader.word();
        break;
      case 3:
        welcome.serverTimeMs = reader.uintOrInfinity();
        break;
      case 4:
        welcome.wantView = reader.bool();
        break;
      case 5:
        welcome.maxElements = reader.word();
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outerEnd);
  return welcome;
}

export function writeWelcome(writer: WireWriter, field: number, welcome: Welcome): void {
  const start = writer.begin(field);
  writer.uint(1, welcome.epoch);
  writer.uint(2, welcome.activeInstances);
  writer.uint(3, welcome.serverTimeMs);
  writer.bool(4, welcome.wantView);
  writer.uint(5, welcome.maxElements);
  writer.end(start);
}

function readConfig(reader: WireReader, before: WireTrackerConfig): WireTrackerConfig {
  const config: Draft<WireTrackerConfig> = { ...before };
  const outerEnd = reader.enter();
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    switch (field) {
      case 1:
        config.levels = reader.word();
        break;
      case 2:
        config.columns = reader.word();
        break;
      case 3:
        config.policy = reader.int32();
        break;
      case 4:
        config.ratePerSecond = reader.double();
        break;
      case 5:
        config.windowMs = reader.uintOrInfinity();
        break;
      case 6:
        config.hash = reader.int32();
        break;
      case 7:
        config.keyCheck = reader.fixed64();
        break;
      case 8:
        config.increment = reader.double();
        break;
      case 9:
        config.decrement = reader.double();
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outerEnd);
  return config;
}
