import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Compiles the published JavaScript of a workspace into its folder `lib`, which has the layout of the repository: its
 * own files and those of `shared` that they import, with source maps, and the files that they read at run time. The hub
 * also contains its built pages and the documentation, to which its messages refer.
 *
 *     node build-package.ts hub|node-agent
 *
 * `npm pack -w hub` and `npm pack -w node-agent` run it.
 */

const root = import.meta.dirname;
/** Files and folders that the programs of a workspace read at run time. */
const assets: Record<string, string[]> = {
  hub: [
    'migrations',
    'hub/platform/http/openapi/openapi.json',
    'hub/platform/http/pages/page.css',
    'shared/web/tokens.css',
    'hub/products/ai/knowledge/lexicon.txt',
  ],
  'node-agent': [],
};

const workspace = process.argv[2] ?? '';
const files = assets[workspace];
if (files === undefined) {
  process.stderr.write(`Usage: node build-package.ts ${Object.keys(assets).join('|')}\n`);
  process.exit(2);
}
const lib = join(root, workspace, 'lib');
const compile = (...options: string[]) =>
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...options], {
    cwd: root,
    stdio: 'inherit',
  });

rmSync(lib, { recursive: true, force: true });
compile('-p', join(workspace, 'tsconfig.package.json'));
if (workspace === 'hub') {
  // Not a copy of `hub/web/dist`, which also has the scripts of an earlier build.
  const dist = join(lib, 'hub/web/dist');
  execFileSync(process.execPath, [join(root, 'hub/web/build.ts'), dist], { cwd: root, stdio: 'inherit' });
  compile('-p', 'shared/client/tsconfig.package.json');
}
for (const file of files) cpSync(join(root, file), join(lib, file), { recursive: true });
cpSync(join(root, 'LICENSE'), join(root, workspace, 'LICENSE'));
if (workspace === 'hub') {
  rmSync(join(root, 'hub/docs'), { recursive: true, force: true });
  cpSync(join(root, 'docs'), join(root, 'hub/docs'), { recursive: true });
}
