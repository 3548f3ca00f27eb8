import { matchesGlob } from 'node:path/posix';
import type { Import } from './imports.ts';

/**
 * An import rule. Imports are denied by default, and the first rule whose `from` matches the importing file decides.
 */
export interface Rule {
  name: string;
  from: string;
  /** Globs over project paths, `node:*` and package names. */
  allowed: string[];
  /** An example of an import that this rule must refuse. */
  forbids: Import;
}

const node = 'node:*';
/** The entry points of a product and its features: `index.ts`, and `schema.ts` for foreign keys and joins. */
const entryPoints = (product: string) => [
  `hub/products/${product}/index.ts`,
  `hub/products/${product}/schema.ts`,
  `hub/products/${product}/*/index.ts`,
  `hub/products/${product}/*/schema.ts`,
];
const engineEntryPoints = ['hub/engine/index.ts', 'hub/engine/skill.ts', 'hub/engine/schema.ts'];

/** The products, each with the products that it may import. */
export const products: Record<string, readonly string[]> = {
  core: [],
  nodes: ['core'],
  ai: ['core', 'chat'],
  chat: ['core'],
  webhooks: ['core', 'chat'],
  automations: ['core', 'nodes', 'ai', 'chat', 'marketing'],
  marketing: ['core', 'automations'],
  calls: ['core'],
};
const productLibraries: Record<string, readonly string[]> = {
  core: ['jose', '@node-rs/argon2'],
  nodes: ['@fastify/busboy', 'lru-cache', 'sharp'],
  ai: ['@echogarden/fvad-wasm'],
  calls: ['ws'],
};

const testing = ['vitest', 'fast-check', 'test/fixtures/*.ts'];

export const rules: Rule[] = [
  {
    name: 'tests of shared',
    from: 'shared/**/*.test.ts',
    allowed: ['shared/**', 'zod', node, ...testing],
    forbids: { from: 'shared/a.test.ts', target: 'hub/app.ts' },
  },
  {
    name: 'tests of the hub',
    from: 'hub/**/*.test.ts',
    allowed: [
      'hub/**',
      'shared/**',
      node,
      'pg',
      'ioredis',
      'nodemailer',
      'undici',
      'ws',
      'zod',
      'jose',
      'pino',
      'ajv',
      '@redocly/openapi-core',
      'fast-png',
      'sharp',
      '@tanstack/react-query',
      ...testing,
    ],
    forbids: { from: 'hub/a.test.ts', target: 'node-agent/runtime/cli.ts' },
  },
  {
    name: 'tests of the companion',
    from: 'node-agent/**/*.test.ts',
    allowed: [
      'node-agent/**',
      'shared/**',
      node,
      'ws',
      'zod',
      'fast-png',
      'jpeg-js',
      'playwright-core',
      '@electron/asar',
      '@electron/fuses',
      ...testing,
    ],
    forbids: { from: 'node-agent/runtime/a.test.ts', target: 'hub/app.ts' },
  },
  {
    name: 'shared/web',
    from: 'shared/web/**',
    allowed: ['shared/**'],
    forbids: { from: 'shared/web/store.ts', target: 'preact/hooks' },
  },
  // What the hub and the companion share, but browsers cannot run.
  {
    name: 'shared/node',
    from: 'shared/node/**',
    allowed: ['shared/**', node],
    forbids: { from: 'shared/node/process-lifetime.ts', target: 'hub/app.ts' },
  },
  {
    name: 'shared',
    from: 'shared/**',
    allowed: ['shared/**', 'zod', 'canonicalize'],
    forbids: { from: 'shared/errors.ts', target: 'node:fs' },
  },
  {
    name: 'conformance suites of the platform',
    from: 'hub/platform/**/conformance.ts',
    allowed: ['shared/**', 'hub/platform/**', node, 'pino', ...testing],
    forbids: { from: 'hub/platform/queue/conformance.ts', target: 'hub/app.ts' },
  },
  {
    name: 'the query builder',
    from: 'hub/platform/db/orm.ts',
    allowed: ['node:module', 'drizzle-orm'],
    forbids: { from: 'hub/platform/db/orm.ts', target: 'pg' },
  },
  {
    name: 'hub/platform/http',
    from: 'hub/platform/http/**',
    allowed: [
      'shared/**',
      'hub/platform/**',
      node,
      'express',
      'helmet',
      '@fastify/busboy',
      'cookie',
      'proxy-addr',
      'ws',
      'lru-cache',
      'ipaddr.js',
      'zod',
    ],
    forbids: { from: 'hub/platform/http/server.ts', target: 'bullmq' },
  },
  {
    name: 'hub/platform',
    from: 'hub/platform/**',
    allowed: [
      'shared/**',
      'hub/platform/**',
      node,
      'pg',
      'lru-cache',
      'bullmq',
      'ioredis',
      'undici',
      'ws',
      'pino',
      'pino-pretty',
      '@opentelemetry/api',
      '@opentelemetry/exporter-prometheus',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-metrics',
      '@opentelemetry/sdk-trace',
      'uuid',
      'ipaddr.js',
      'cron-parser',
      'nodemailer',
      '@ai-sdk/*',
      'zod',
    ],
    forbids: { from: 'hub/platform/ids.ts', target: 'hub/engine/index.ts' },
  },
  {
    name: 'hub/engine',
    from: 'hub/engine/**',
    allowed: ['shared/**', 'hub/platform/**', 'hub/engine/**', node, 'lru-cache', 'zod'],
    forbids: { from: 'hub/engine/steps/steps.ts', target: 'hub/products/nodes/index.ts' },
  },
  ...Object.entries(products).map(([product, others]): Rule => ({
    name: `hub/products/${product}`,
    from: `hub/products/${product}/**`,
    // Includes the own files of the feature. `sameFeature` limits imports from other features of the product to their
    // entry points.
    allowed: [
      'shared/**',
      'hub/platform/**',
      ...engineEntryPoints,
      'hub/product.ts',
      ...entryPoints(product),
      `hub/products/${product}/store.ts`,
      ...others.flatMap(entryPoints),
      node,
      'lru-cache',
      'zod',
      ...(productLibraries[product] ?? []),
    ],
    forbids: { from: `hub/products/${product}/a.ts`, target: 'express' },
  })),
  {
    name: 'hub/product',
    from: 'hub/product.ts',
    allowed: ['hub/engine/skill.ts', 'hub/platform/**'],
    forbids: { from: 'hub/product.ts', target: 'hub/products/nodes/index.ts' },
  },
  {
    name: 'hub/config',
    from: 'hub/config.ts',
    allowed: ['shared/**', 'hub/platform/address-block.ts', 'zod'],
    forbids: { from: 'hub/config.ts', target: 'node:fs' },
  },
  {
    name: 'hub/environment',
    from: 'hub/environment.ts',
    allowed: ['shared/**', 'hub/config.ts', node],
    forbids: { from: 'hub/environment.ts', target: 'hub/app.ts' },
  },
  {
    name: 'hub/app',
    from: 'hub/app.ts',
    allowed: [
      'shared/**',
      'hub/platform/**',
      'hub/engine/**',
      'hub/products/*/index.ts',
      'hub/product.ts',
      'hub/config.ts',
      'hub/package.json',
      node,
    ],
    forbids: { from: 'hub/app.ts', target: 'node-agent/runtime/cli.ts' },
  },
  // The process owns the data folder and the log, so it may import these parts of the platform.
  {
    name: 'hub/main',
    from: 'hub/main.ts',
    allowed: [
      'shared/errors.ts',
      'shared/node/process-lifetime.ts',
      'hub/app.ts',
      'hub/config.ts',
      'hub/environment.ts',
      'hub/platform/process/command-lines.ts',
      'hub/platform/process/data-folder.ts',
      'hub/platform/observability/describe-error.ts',
      'hub/platform/observability/logger.ts',
      node,
    ],
    forbids: { from: 'hub/main.ts', target: 'hub/products/core/index.ts' },
  },
  {
    name: 'hub/cli',
    from: 'hub/cli/**',
    allowed: [
      'shared/**',
      'hub/app.ts',
      'hub/main.ts',
      'hub/package.json',
      'hub/config.ts',
      'hub/environment.ts',
      'hub/platform/process/command-lines.ts',
      'hub/platform/process/data-folder.ts',
      'hub/platform/observability/describe-error.ts',
      'hub/platform/http/pages/built-files.ts',
      'hub/platform/http/pages/own-page.ts',
      'hub/platform/http/listen.ts',
      'hub/platform/observability/logger.ts',
      'hub/platform/postgres-server/server.ts',
      'hub/products/ai/index.ts',
      'hub/products/automations/index.ts',
      'hub/products/calls/index.ts',
      'hub/cli/**',
      node,
      'commander',
      'diff',
      'zod',
    ],
    forbids: { from: 'hub/cli/cli.ts', target: 'hub/products/core/identity/service.ts' },
  },
  {
    name: 'hub/demo',
    from: 'hub/demo/**',
    allowed: ['shared/**', 'hub/demo/**', 'playwright-core', node],
    forbids: { from: 'hub/demo/main.ts', target: 'hub/app.ts' },
  },
  {
    name: 'hub/dev',
    from: 'hub/dev/**',
    allowed: ['shared/**', 'hub/demo/companion.ts', 'hub/demo/processes.ts', 'hub/dev/**', node, 'zod'],
    forbids: { from: 'hub/dev/main.ts', target: 'hub/app.ts' },
  },
  {
    name: 'the bundler of the pages',
    from: 'hub/web/build.ts',
    allowed: ['shared/node/install-build.ts', 'vite', '@tailwindcss/vite', node],
    forbids: { from: 'hub/web/build.ts', target: 'hub/web/chat/chat.ts' },
  },
  {
    name: 'hub/web/phone',
    from: 'hub/web/phone/**',
    allowed: ['shared/**', 'hub/web/**', 'preact', 'preact/*', 'jssip'],
    forbids: { from: 'hub/web/phone/sip-connection.ts', target: 'hub/products/calls/index.ts' },
  },
  {
    name: 'hub/web/dashboard',
    from: 'hub/web/dashboard/**',
    allowed: [
      'shared/**',
      'hub/web/dashboard/**',
      'react',
      'react-dom',
      'react-dom/*',
      '@tanstack/*',
      '@base-ui/react',
      'lucide-react',
      'uqr',
    ],
    forbids: { from: 'hub/web/dashboard/main.tsx', target: 'hub/web/chat/chat.ts' },
  },
  {
    name: 'hub/web',
    from: 'hub/web/**',
    allowed: ['shared/**', 'hub/web/**', 'preact', 'preact/*'],
    forbids: { from: 'hub/web/chat/chat.ts', target: 'hub/products/chat/index.ts' },
  },
  {
    name: 'settings of the build of node-agent/renderer',
    from: 'node-agent/renderer/vite.config.ts',
    allowed: ['vite', node],
    forbids: { from: 'node-agent/renderer/vite.config.ts', target: 'node-agent/renderer/app.tsx' },
  },
  {
    name: 'node-agent/renderer',
    from: 'node-agent/renderer/**',
    allowed: ['shared/**', 'node-agent/renderer/**', 'react', 'react-dom', '@base-ui/react'],
    forbids: { from: 'node-agent/renderer/app.tsx', target: 'node-agent/preload/preload.ts' },
  },
  {
    name: 'node-agent/preload',
    from: 'node-agent/preload/**',
    allowed: ['shared/**', 'electron'],
    forbids: { from: 'node-agent/preload/preload.ts', target: 'node-agent/main/main.ts' },
  },
  {
    name: 'node-agent/package',
    from: 'node-agent/package/**',
    allowed: [
      'shared/**',
      'node-agent/main/updates/feed.ts',
      'node-agent/package/**',
      'tar-stream',
      '@resvg/resvg-js',
      node,
    ],
    forbids: { from: 'node-agent/package/deb.ts', target: 'node-agent/runtime/cli.ts' },
  },
  {
    name: 'node-agent/main',
    from: 'node-agent/main/**',
    allowed: ['shared/**', 'node-agent/runtime/**', 'node-agent/main/**', 'electron', 'electron-updater', 'zod', node],
    forbids: { from: 'node-agent/main/main.ts', target: 'hub/app.ts' },
  },
  {
    name: 'start of the app from the project',
    from: 'node-agent/start-app.ts',
    allowed: ['electron', node],
    forbids: { from: 'node-agent/start-app.ts', target: 'node-agent/main/main.ts' },
  },
  {
    name: 'the bundler of the app',
    from: 'node-agent/build.ts',
    allowed: ['vite', 'node-agent/package/build-values.ts', node],
    forbids: { from: 'node-agent/build.ts', target: 'node-agent/main/main.ts' },
  },
  {
    name: 'node-agent/runtime',
    from: 'node-agent/runtime/**',
    allowed: [
      'shared/**',
      'node-agent/runtime/**',
      'node-agent/package.json',
      node,
      'zod',
      'playwright-core',
      'systeminformation',
      'commander',
      'ws',
      'fast-png',
      'jpeg-js',
    ],
    forbids: { from: 'node-agent/runtime/cli.ts', target: 'electron' },
  },
  { name: 'test', from: 'test/**', allowed: ['**', '*'], forbids: { from: 'test/run.ts', target: '?' } },
  {
    name: 'the compiler of the packages',
    from: 'build-package.ts',
    allowed: [node],
    forbids: { from: 'build-package.ts', target: 'hub/app.ts' },
  },
  {
    name: 'settings of tools',
    from: '*.config.ts',
    allowed: ['vitest', 'drizzle-kit', 'test/recorded-timings.ts', node],
    forbids: { from: 'vitest.config.ts', target: 'hub/app.ts' },
  },
];

/** Whether both files belong to one feature, or one of them assembles the product of the other. */
function sameFeature({ from, target }: Import): boolean {
  const placeOf = (path: string) => /^hub\/products\/([^/]+)\/(?:([^/]+)\/)?/.exec(path);
  const [own, other] = [placeOf(from), placeOf(target)];
  if (own === null || other === null || own[1] !== other[1]) return false;
  return own[2] === other[2] || (from.endsWith('/product.ts') && own[2] === undefined);
}

/** Returns why an import is refused, or null if a rule allows it. */
export function refusal(found: Import): string | null {
  const rule = rules.find(({ from }) => matchesGlob(found.from, from));
  if (rule === undefined) return `${found.from} is under no rule; add one to test/architecture/rules.ts`;
  if (
    found.target !== '?' &&
    (sameFeature(found) ||
      rule.allowed.some((pattern) => found.target === pattern || matchesGlob(found.target, pattern)))
  )
    return null;
  return `${found.from} may not import ${found.target} (${rule.name})`;
}
