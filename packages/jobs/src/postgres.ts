// The entry point `@syncline/jobs/postgres`. Only its users need `pg`.
export {
  createPostgresJobStore,
  type PostgresJobStoreOptions,
} from './postgres/postgres-adapter.js';
