import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { InlineConfig, Rollup } from 'vite';

/**
 * Bundles the chat page, the voice page, the softphone and the widget's loader into `hub/web/dist`, each file beside itself in the two encodings that browsers take, so
 * that the hub compresses nothing. `assets.json` there names what each page begins with.
 */

const here = import.meta.dirname;
/** Another folder, for tests. */
const given = process.argv[2];
const target = given === undefined ? join(here, 'dist') : isAbsolute(given) ? given : resolve(given);
const outDir = mkdtempSync(join(tmpdir(), 'outrigger-build-'));

const list = 'assets.json';

const common: InlineConfig = {
  configFile: false,
  root: here,
  base: './',
  logLevel: 'error',
  publicDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
};

const browsers = ['chrome110', 'firefox115', 'safari16.4'];

/** A page, by the name and the file of its script. */
const pageOf = (name: string, script: string): InlineConfig => ({
  ...common,
  build: {
    outDir: join(outDir, 'assets'),
    emptyOutDir: false,
    target: browsers,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    // Its polyfill would fetch, and what the page imports later are words alone.
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

/** What listens to the microphone, in a thread of its own. */
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

const loader: InlineConfig = {
  ...common,
  build: {
    outDir,
    emptyOutDir: false,
    target: browsers,
    modulePreload: false,
    rolldownOptions: {
      input: join(here, 'loader/main.ts'),
      output: { format: 'iife', entryFileNames: 'widget.js' },
    },
  },
};

function compress(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(?:js|css)$/.test(name)) continue;
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

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));

/** Puts what was built in place of what was there, whole files at a time and the list last: a hub may be reading it. */
function put(): void {
  mkdirSync(join(target, 'assets'), { recursive: true });
  const built = filesIn(outDir);
  for (const name of built.toSorted((left, right) => Number(left === list) - Number(right === list))) {
    const partial = join(target, `${name}.${process.pid}`);
    copyFileSync(join(outDir, name), partial);
    renameSync(partial, join(target, name));
  }
  for (const name of filesIn(target)) if (!built.includes(name)) rmSync(join(target, name), { force: true });
}

const vite = await import('vite').catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  return null;
});
if (vite === null) {
  // Development packages are left out, so the pages can only be those of an earlier build.
  if (existsSync(join(target, list)))
    process.stderr.write('vite is not installed: the pages stay as they were built before.\n');
  else {
    process.stderr.write(
      "The pages (chat, voice and phone) can't be built, because vite, a development dependency, is not installed. Run: npm ci --include=dev && npm prune --omit=dev\n",
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
  const { script: heard } = await build(capture);
  await build(loader);
  writeFileSync(join(outDir, list), `${JSON.stringify({ page, voice: { ...voice, capture: heard }, phone })}\n`);
  compress(outDir);
  put();
}
rmSync(outDir, { recursive: true, force: true });
