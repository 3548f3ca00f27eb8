import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/**
 * Builds the companion's window for the policy `script-src 'self'; style-src 'self'`: one script, one style sheet,
 * nothing inline.
 */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  build: {
    outDir: fileURLToPath(new URL('../dist/renderer', import.meta.url)),
    emptyOutDir: true,
    target: 'chrome130',
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    // The polyfill of module preload uses fetch, which the policy of the window forbids.
    modulePreload: false,
    license: { fileName: 'licenses.md' },
    // Libraries contain the directive 'use client', which has no effect here.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
  },
});
