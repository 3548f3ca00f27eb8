import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** The companion's window as files that a page under `script-src 'self'; style-src 'self'` can load: one script, one style sheet, nothing inline. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  build: {
    outDir: fileURLToPath(new URL('../dist/renderer', import.meta.url)),
    emptyOutDir: true,
    target: 'chrome130',
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    // Its polyfill would fetch, which the policy of the window forbids.
    modulePreload: false,
    license: { fileName: 'licenses.md' },
    // Libraries say 'use client', which means nothing here.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
  },
});
