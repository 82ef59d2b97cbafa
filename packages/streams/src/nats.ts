// The door `@syncline/streams/nats`: what needs the NATS clients, which are optional peers.
export {
  type NatsPosition,
  type NatsRecord,
  type NatsSourceOptions,
  natsSource,
} from './ends/nats-source.js';
