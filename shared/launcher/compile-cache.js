// Enables the compile cache of Node, which makes the next start faster. The cache is in the folder of the package,
// because a user who can write there can also change the sources. The temporary folder of the system would be writable
// for every user.
// The cache has no effect if the folder is not writable or Node is too old.
import * as modules from 'node:module';
import { fileURLToPath } from 'node:url';

modules.enableCompileCache?.(fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url)));
