import { cpSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { build } from 'vite';
import type { InlineConfig } from 'vite';
import { buildValues } from './package/build-values.ts';

/**
 * Bundles the app into `node-agent/dist`: Electron does not strip types, and a few files load faster than thousands. The
 * oldest supported runtime is that of the tests, Electron 33 with Node 20.18.
 */

const here = import.meta.dirname;
const root = join(here, '..');
const outDir = join(here, 'dist');
/** A package that reads its own files at runtime cannot be bundled. It is copied into a folder of the bundle. */
const unbundledPackage = 'playwright-core';
/** The command line is a separate file, because it runs when it is imported. */
const commandLine = 'runtime/cli.ts';
const isCommandLine = (id: string) => id.replaceAll('\\', '/').endsWith(`/${commandLine}`);
const isExternal = (id: string) => ['electron', unbundledPackage].includes(id) || isBuiltin(id);

const bundle = (name: string, entry: string, format: 'es' | 'cjs', target: string): InlineConfig => ({
  configFile: false,
  root,
  logLevel: 'warn',
  publicDir: false,
  // The resolution of Node, so that packages resolve as they do without a bundler.
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
        // CommonJS libraries call `require`.
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

/** Copies Playwright without trace viewer, reports and tools: the companion only controls a browser. */
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
