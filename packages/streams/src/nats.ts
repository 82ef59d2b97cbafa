// Entry point `@syncline/streams/nats`: everything that needs the NATS clients, which are optional peer dependencies.
export {
  type NatsPosition,
  type NatsRecord,
  type NatsSourceOptions,
  natsSource,
} from './ends/nats-source.js';
