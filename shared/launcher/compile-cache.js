// Keeps what Node and V8 made of the sources, so that the next start need not make it again. It lies in the package's own folder: whoever can write there can
// write the sources, too; the system's folder for temporary files is everybody's. Where it can't be written, or Node is too old, all is as without.
import * as modules from 'node:module';
import { fileURLToPath } from 'node:url';

modules.enableCompileCache?.(fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url)));
