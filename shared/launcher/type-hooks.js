// Strips the types of this package's own files in node_modules, where Node does not. Requires the pinned Node of this
// package.
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = new URL('../..', import.meta.url).href;
const { emitWarning } = process;

registerHooks({
  load(url, context, nextLoad) {
    const isOwn = url.startsWith(root) && url.endsWith('.ts') && !url.slice(root.length).includes('node_modules/');
    if (!isOwn) return nextLoad(url, context);
    process.emitWarning = () => undefined;
    const source = stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8'));
    process.emitWarning = emitWarning;
    return { format: 'module', source, shortCircuit: true };
  },
});
