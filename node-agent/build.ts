import { cpSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { build } from 'vite';
import type { InlineConfig } from 'vite';
import { buildValues } from './package/build-values.ts';

/**
 * Bundles the app into `node-agent/dist`: Electron strips no types, and a package of a few files starts sooner than one of thousands. The oldest runtime
 * that it must work on is that of the tests, Electron 33 with Node 20.18.
 */

const here = import.meta.dirname;
const root = join(here, '..');
const outDir = join(here, 'dist');
/** A package that finds files of its own beside itself can't be bundled; it lies whole in a folder of the bundle. */
const unbundledPackage = 'playwright-core';
/** The command line runs as soon as it is read: the app reads it only when it is asked for. */
const commandLine = 'runtime/cli.ts';
const isCommandLine = (id: string) => id.replaceAll('\\', '/').endsWith(`/${commandLine}`);
const isExternal = (id: string) => ['electron', unbundledPackage].includes(id) || isBuiltin(id);

const bundle = (name: string, entry: string, format: 'es' | 'cjs', target: string): InlineConfig => ({
  configFile: false,
  root,
  logLevel: 'warn',
  publicDir: false,
  // Node's own resolution, so that packages give what they give without a bundler.
  resolve: { conditions: ['node', 'import', 'module', 'default'], mainFields: ['module', 'main'] },
  define: buildValues(process.env),
  ssr: { noExternal: true, target: 'node' },
  build: {
    ssr: true,
    outDir,
    emptyOutDir: false,
    target,
    minify: false,
    sourcemap: false,
    rolldownOptions: {
      input: join(here, entry),
      external: (id) => isExternal(id) || (entry !== commandLine && isCommandLine(id)),
      output: {
        format,
        entryFileNames: name,
        codeSplitting: false,
        paths: (id) =>
          id === unbundledPackage ? `./${unbundledPackage}/index.mjs` : isCommandLine(id) ? './cli.js' : id,
        // Libraries in the older module format call it.
        ...(format === 'es'
          ? {
              banner:
                "import { createRequire as createRequireOfBundle } from 'node:module';\nconst require = createRequireOfBundle(import.meta.url);",
            }
          : {}),
      },
    },
  },
});

/** Without what shows traces and reports, and without what speaks to other programs: the companion only drives a browser. */
function copyPlaywright(): void {
  const from = join(root, 'node_modules', unbundledPackage);
  const excluded = ['types', 'bin', 'README.md', 'cli.js', 'lib/vite', 'lib/tools'].map((name) => join(from, name));
  cpSync(from, join(outDir, unbundledPackage), { recursive: true, filter: (path) => !excluded.includes(path) });
}

rmSync(outDir, { recursive: true, force: true });
await build(bundle('main.js', 'main/main.ts', 'es', 'node20'));
await build(bundle('runtime.js', 'runtime/host.ts', 'es', 'node20'));
await build(bundle('cli.js', commandLine, 'es', 'node20'));
await build(bundle('preload.cjs', 'preload/preload.ts', 'cjs', 'chrome130'));
await build(bundle('recorder.cjs', 'preload/recorder.ts', 'cjs', 'chrome130'));
await build({ configFile: join(here, 'renderer/vite.config.ts'), logLevel: 'error' });
copyPlaywright();
cpSync(join(here, 'resources/icons/tray'), join(outDir, 'icons/tray'), { recursive: true });
