import { matchesGlob } from 'node:path/posix';
import type { Import } from './imports.ts';

/** Who may import whom: deny by default. The first rule whose `from` matches a file decides. */
export interface Rule {
  name: string;
  from: string;
  /** Globs over the project's paths, `node:*`, and names of packages. */
  allowed: string[];
  /** An import that this rule exists to refuse. */
  forbids: Import;
}

const faces = 'hub/modules/*/index.ts';
const node = 'node:*';
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
      'drizzle-orm',
      'ioredis',
      'nodemailer',
      'undici',
      'zod',
      'jose',
      'pino',
      'ajv',
      '@redocly/openapi-core',
      '@stoplight/spectral-core',
      '@stoplight/spectral-rulesets',
      ...testing,
    ],
    forbids: { from: 'hub/a.test.ts', target: 'node-agent/runtime/cli.ts' },
  },
  {
    name: 'tests of the companion',
    from: 'node-agent/**/*.test.ts',
    allowed: ['node-agent/**', 'shared/**', node, 'zod', ...testing],
    forbids: { from: 'node-agent/runtime/a.test.ts', target: 'hub/app.ts' },
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
    name: 'hub/platform',
    from: 'hub/platform/**',
    allowed: [
      'shared/**',
      'hub/platform/**',
      node,
      'pg',
      'drizzle-orm',
      'lru-cache',
      'bullmq',
      'ioredis',
      'undici',
      'pino',
      'pino-pretty',
      'uuid',
      'ipaddr.js',
      'cron-parser',
      'nodemailer',
      'ai',
      '@ai-sdk/*',
      'zod',
    ],
    forbids: { from: 'hub/platform/ids.ts', target: 'hub/modules/runs/index.ts' },
  },
  {
    name: 'hub/modules',
    from: 'hub/modules/**',
    // Its own files too: `sameModule` below lets a module see itself and of the others only the face.
    allowed: [
      'shared/**',
      'hub/platform/**',
      faces,
      node,
      'drizzle-orm',
      'lru-cache',
      'zod',
      'jose',
      '@node-rs/argon2',
      'ipaddr.js',
    ],
    forbids: { from: 'hub/modules/runs/service.ts', target: 'hub/modules/nodes/store.ts' },
  },
  {
    name: 'hub/engine',
    from: 'hub/engine/**',
    allowed: ['shared/**', 'hub/platform/**', faces, 'hub/engine/**', 'hub/skills/define.ts', node, 'zod'],
    forbids: { from: 'hub/engine/steps.ts', target: 'hub/skills/node.ts' },
  },
  {
    name: 'hub/skills/define',
    from: 'hub/skills/define.ts',
    allowed: ['shared/**', 'hub/platform/db/database.ts', 'zod'],
    forbids: { from: 'hub/skills/define.ts', target: 'hub/modules/runs/index.ts' },
  },
  {
    name: 'hub/skills',
    from: 'hub/skills/**',
    allowed: ['shared/**', faces, 'hub/skills/**', 'zod'],
    forbids: { from: 'hub/skills/log.ts', target: 'hub/platform/db/database.ts' },
  },
  {
    name: 'hub/api',
    from: 'hub/api/**',
    allowed: [
      'shared/**',
      'hub/platform/**',
      faces,
      'hub/engine/**',
      'hub/skills/registry.ts',
      'hub/api/**',
      node,
      'express',
      'helmet',
      '@fastify/busboy',
      'cookie',
      'proxy-addr',
      'lru-cache',
      'prom-client',
      'ipaddr.js',
      'zod',
    ],
    forbids: { from: 'hub/api/server.ts', target: 'bullmq' },
  },
  {
    name: 'hub/jobs',
    from: 'hub/jobs/**',
    allowed: [
      'shared/**',
      'hub/platform/**',
      faces,
      'hub/engine/**',
      'hub/skills/registry.ts',
      'hub/jobs/**',
      node,
      'zod',
      'drizzle-orm',
    ],
    forbids: { from: 'hub/jobs/outbox.ts', target: 'hub/api/server.ts' },
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
    allowed: ['shared/**', 'hub/*/**', 'hub/config.ts', node, 'drizzle-orm', 'prom-client'],
    forbids: { from: 'hub/app.ts', target: 'node-agent/runtime/cli.ts' },
  },
  // The process owns the data folder and the log, so it also knows these two of the platform.
  {
    name: 'hub/main',
    from: 'hub/main.ts',
    allowed: [
      'shared/errors.ts',
      'shared/launcher/lifetime.js',
      'hub/app.ts',
      'hub/config.ts',
      'hub/environment.ts',
      'hub/platform/data-folder.ts',
      'hub/platform/describe-error.ts',
      'hub/platform/logger.ts',
      'hub/platform/start-garbage.ts',
      node,
    ],
    forbids: { from: 'hub/main.ts', target: 'hub/modules/runs/index.ts' },
  },
  {
    name: 'hub/cli',
    from: 'hub/cli.ts',
    allowed: [
      'shared/**',
      'hub/app.ts',
      'hub/main.ts',
      'hub/config.ts',
      'hub/environment.ts',
      'hub/platform/data-folder.ts',
      'hub/platform/describe-error.ts',
      'hub/platform/logger.ts',
      'hub/platform/postgres-server/server.ts',
      'hub/terminal.ts',
      'hub/workflow-files.ts',
      node,
      'commander',
    ],
    forbids: { from: 'hub/cli.ts', target: 'hub/modules/identity/service.ts' },
  },
  {
    name: 'hub/terminal',
    from: 'hub/terminal.ts',
    allowed: ['shared/**', node],
    forbids: { from: 'hub/terminal.ts', target: 'hub/app.ts' },
  },
  {
    name: 'hub/workflow-files',
    from: 'hub/workflow-files.ts',
    allowed: ['shared/**', faces, node, 'zod', 'diff'],
    forbids: { from: 'hub/workflow-files.ts', target: 'hub/platform/db/database.ts' },
  },
  {
    name: 'hub/demo',
    from: 'hub/demo/**',
    allowed: ['shared/**', 'hub/demo/**', node],
    forbids: { from: 'hub/demo/main.ts', target: 'hub/app.ts' },
  },
  {
    name: 'node-agent/renderer and preload',
    from: 'node-agent/{renderer,preload}/**',
    allowed: ['shared/**', 'node-agent/{renderer,preload}/**'],
    forbids: { from: 'node-agent/renderer/app.ts', target: 'node:fs' },
  },
  {
    name: 'hub/dashboard and widget',
    from: 'hub/{dashboard,widget}/**',
    allowed: ['shared/**', 'hub/{dashboard,widget}/**'],
    forbids: { from: 'hub/dashboard/app.ts', target: 'hub/app.ts' },
  },
  {
    name: 'node-agent/main',
    from: 'node-agent/main/**',
    allowed: ['shared/**', 'node-agent/runtime/**', 'node-agent/main/**', 'electron', node],
    forbids: { from: 'node-agent/main/main.ts', target: 'hub/app.ts' },
  },
  {
    name: 'node-agent/runtime',
    from: 'node-agent/runtime/**',
    allowed: [
      'shared/**',
      'node-agent/runtime/**',
      'package.json',
      node,
      'zod',
      'playwright-core',
      'systeminformation',
      'commander',
    ],
    forbids: { from: 'node-agent/runtime/cli.ts', target: 'electron' },
  },
  { name: 'test', from: 'test/**', allowed: ['**', '*'], forbids: { from: 'test/run.ts', target: '?' } },
  {
    name: 'settings of tools',
    from: '*.config.ts',
    allowed: ['vitest', 'drizzle-kit', node],
    forbids: { from: 'vitest.config.ts', target: 'hub/app.ts' },
  },
];

function sameModule({ from, target }: Import): boolean {
  const moduleOf = (path: string) => /^hub\/modules\/([^/]+)\//.exec(path)?.[1];
  return moduleOf(from) !== undefined && moduleOf(from) === moduleOf(target);
}

/** Why an import is refused, or null when a rule allows it. */
export function refusal(found: Import): string | null {
  const rule = rules.find(({ from }) => matchesGlob(found.from, from));
  if (rule === undefined) return `${found.from} is under no rule; add one to test/architecture/rules.ts`;
  if (
    found.target !== '?' &&
    (sameModule(found) ||
      rule.allowed.some((pattern) => found.target === pattern || matchesGlob(found.target, pattern)))
  )
    return null;
  return `${found.from} may not import ${found.target} (${rule.name})`;
}
