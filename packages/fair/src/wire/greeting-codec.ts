// Hello and Welcome, between values and bytes. They pass once per stream, so nothing here is in a hurry.
//
// A field of a message that comes twice is merged, as protobuf says: that is why the readers take what
// was read before.
import type { Hello, Welcome, WireTrackerConfig } from './sync-messages.js';
import type { WireReader } from './wire-reader.js';
import { doubleFieldBytesMax, integerFieldBytesMax, type WireWriter } from './wire-writer.js';

type Draft<T> = { -readonly [Name in keyof T]: T[Name] };

const helloDepth = 2;
const configDepth = 3;
const welcomeDepth = 2;

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
  const end = reader.nestedEnd();
  while (reader.position < end) {
    switch (reader.field()) {
      case 1:
        hello.tracker = reader.string();
        break;
      case 2:
        hello.clientId = reader.string();
        break;
      case 3:
        hello.config = readConfig(reader, hello.config);
        break;
      case 4:
        hello.lastEpoch = reader.integer();
        break;
      default:
        reader.skip(helloDepth);
    }
  }
  return hello;
}

export function writeHello(writer: WireWriter, hello: Hello): void {
  writer.string(1, hello.tracker);
  writer.string(2, hello.clientId);
  writer.reserve(8 * integerFieldBytesMax + 4 * doubleFieldBytesMax);
  const start = writer.beginShort(3);
  const { config } = hello;
  writer.integer(1, config.levels);
  writer.integer(2, config.columns);
  writer.int32(3, config.policy);
  writer.double(4, config.ratePerSecond);
  writer.integer(5, config.windowMs);
  writer.int32(6, config.hash);
  writer.fixed64(7, config.keyCheck);
  writer.double(8, config.increment);
  writer.double(9, config.decrement);
  writer.endShort(start);
  writer.integer(4, hello.lastEpoch);
}

export function readWelcome(reader: WireReader, before: Welcome = noWelcome): Welcome {
  const welcome: Draft<Welcome> = { ...before };
  const end = reader.nestedEnd();
  while (reader.position < end) {
    switch (reader.field()) {
      case 1:
        welcome.epoch = reader.integer();
        break;
      case 2:
        welcome.activeInstances = reader.uint32();
        break;
      case 3:
        welcome.serverTimeMs = reader.integer();
        break;
      case 4:
        welcome.wantView = reader.bool();
        break;
      case 5:
        welcome.maxElements = reader.uint32();
        break;
      default:
        reader.skip(welcomeDepth);
    }
  }
  return welcome;
}

export function writeWelcome(writer: WireWriter, field: number, welcome: Welcome): void {
  writer.reserve(6 * integerFieldBytesMax);
  const start = writer.beginShort(field);
  writer.integer(1, welcome.epoch);
  writer.integer(2, welcome.activeInstances);
  writer.integer(3, welcome.serverTimeMs);
  writer.bool(4, welcome.wantView);
  writer.integer(5, welcome.maxElements);
  writer.endShort(start);
}

function readConfig(reader: WireReader, before: WireTrackerConfig): WireTrackerConfig {
  const config: Draft<WireTrackerConfig> = { ...before };
  const end = reader.nestedEnd();
  while (reader.position < end) {
    switch (reader.field()) {
      case 1:
        config.levels = reader.uint32();
        break;
      case 2:
        config.columns = reader.uint32();
        break;
      case 3:
        config.policy = reader.uint32() | 0;
        break;
      case 4:
        config.ratePerSecond = reader.double();
        break;
      case 5:
        config.windowMs = reader.integer();
        break;
      case 6:
        config.hash = reader.uint32() | 0;
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
        reader.skip(configDepth);
    }
  }
  return config;
}
