import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { InlineConfig, Rollup } from 'vite';
import { installBuild, manifest } from '../../shared/node/install-build.ts';

/**
 * Bundles the dashboard, the page that turns notifications on with its service worker, the chat page, the voice page, the
 * softphone and the widget loader into `hub/web/dist`. Each file is also stored compressed in gzip and Brotli, so that the hub compresses nothing at run time. `assets.json` in that folder
 * lists the entry files of each page. The scripts of the build before stay in the folder, see `installBuild`.
 */

const here = import.meta.dirname;
/** Target folder; tests pass another one. */
const customTarget = process.argv[2];
const target =
  customTarget === undefined ? join(here, 'dist') : isAbsolute(customTarget) ? customTarget : resolve(customTarget);
const outDir = mkdtempSync(join(tmpdir(), 'outrigger-build-'));

/** The script of the API reference at /docs. */
const apiReference = 'api-reference.js';

// The environment of this process may be one of development or tests, for which packages and the compiler have other code.
process.env['NODE_ENV'] = 'production';

const common: InlineConfig = {
  configFile: false,
  root: here,
  base: './',
  logLevel: 'error',
  publicDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
};

const browsers = ['chrome110', 'firefox115', 'safari16.4'];

/** Build configuration of a page. */
const pageOf = (name: string, script: string): InlineConfig => ({
  ...common,
  build: {
    outDir: join(outDir, 'assets'),
    emptyOutDir: false,
    target: browsers,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    // The polyfill would send requests, and the pages load only texts later.
    modulePreload: false,
    license: { fileName: 'licenses.md' },
    rolldownOptions: {
      input: { [name]: join(here, script) },
      output: {
        entryFileNames: '[name]-[hash].js',
        chunkFileNames: `${name}-[name]-[hash].js`,
        assetFileNames: `${name}-[name]-[hash][extname]`,
      },
    },
  },
});

/**
 * Build configuration of the dashboard: React instead of Preact, and a script for each page that is loaded when the page
 * is opened.
 */
const dashboardWith = (tailwind: InlineConfig['plugins']): InlineConfig => {
  const page = pageOf('dashboard', 'dashboard/main.tsx');
  return { ...page, plugins: tailwind, oxc: { jsx: { runtime: 'automatic', importSource: 'react' } } };
};

/** The audio worklet that captures the microphone; it runs in its own thread. */
const capture: InlineConfig = {
  ...common,
  build: {
    outDir: join(outDir, 'assets'),
    emptyOutDir: false,
    target: browsers,
    modulePreload: false,
    rolldownOptions: {
      input: { capture: join(here, 'voice/capture/processor.ts') },
      output: { entryFileNames: '[name]-[hash].js' },
    },
  },
};

/** Build configuration of a script in one file with a fixed name. */
const scriptOf = (name: string, script: string): InlineConfig => ({
  ...common,
  build: {
    outDir,
    emptyOutDir: false,
    target: browsers,
    modulePreload: false,
    rolldownOptions: {
      input: join(here, script),
      output: { format: 'iife', entryFileNames: `${name}.js` },
    },
  },
});

function compress(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    // The API reference is large and rarely read: the hub compresses it at its first request.
    if (!/\.(?:js|css)$/.test(name) || name === apiReference) continue;
    const path = join(folder, name);
    const bytes = readFileSync(path);
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
    writeFileSync(
      `${path}.br`,
      brotliCompressSync(bytes, {
        params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
      }),
    );
  }
}

const vite = await import('vite').catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  return null;
});
if (vite === null) {
  // Development dependencies are not installed, so only the pages of an earlier build can be used.
  if (existsSync(join(target, manifest)))
    process.stderr.write('vite is not installed: the pages of the earlier build are kept.\n');
  else {
    process.stderr.write(
      "The pages (dashboard, chat, voice and phone) can't be built, because vite, a development dependency, is not installed. Run: npm ci --include=dev && npm prune --omit=dev\n",
    );
    process.exitCode = 1;
  }
} else {
  const build = async (config: InlineConfig) => {
    const { output } = (await vite.build(config)) as Rollup.RollupOutput;
    const script = output.find((file) => file.type === 'chunk' && file.isEntry)?.fileName;
    const style = output.find((file) => file.fileName.endsWith('.css'))?.fileName;
    return { script, style };
  };
  const page = await build(pageOf('page', 'chat/main.tsx'));
  const voice = await build(pageOf('voice', 'voice/main.tsx'));
  const phone = await build(pageOf('phone', 'phone/main.tsx'));
  const { default: tailwind } = await import('@tailwindcss/vite');
  const dashboard = await build(dashboardWith([tailwind()]));
  const { script: captureScript } = await build(capture);
  const notify = await build(pageOf('notify', 'notify/main.tsx'));
  await build(scriptOf('push-worker', 'notify/worker.ts'));
  await build(scriptOf('widget', 'loader/main.ts'));
  // One file of a package with hundreds of dependencies, which an installed hub does not need.
  const script = new URL('browser/standalone.js', import.meta.resolve('@scalar/api-reference'));
  copyFileSync(script, join(outDir, apiReference));
  writeFileSync(
    join(outDir, manifest),
    `${JSON.stringify({ page, voice: { ...voice, capture: captureScript }, phone, dashboard, notify })}\n`,
  );
  compress(outDir);
  installBuild(outDir, target);
}
rmSync(outDir, { recursive: true, force: true });
