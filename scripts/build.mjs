// `npm run build`: installs what is missing, then compiles everything.
import { bootstrap } from './bootstrap/bootstrap.mjs';

await bootstrap('.');
