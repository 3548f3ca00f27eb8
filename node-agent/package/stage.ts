import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The used fields of node-agent/package.json. */
interface Project {
  version: string;
  description: string;
  license: string;
}

/**
 * Stages the files of the package: the bundle without source maps, the icons that the app shows, and a package.json.
 * @throws Error when the bundle is incomplete.
 */
export function stageApp(project: string, bundle: string, to: string): void {
  for (const name of ['main.js', 'runtime.js', 'cli.js', 'preload.cjs'])
    if (!existsSync(join(bundle, name)))
      throw new Error(`${join(bundle, name)} is missing. Build the bundle with: node node-agent/build.ts`);
  const { version, description, license } = JSON.parse(
    readFileSync(join(project, 'node-agent/package.json'), 'utf8'),
  ) as Project;
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  cpSync(bundle, to, { recursive: true, filter: (path) => !path.endsWith('.map') });
  const icons = join(project, 'node-agent/resources/icons');
  cpSync(join(icons, 'tray'), join(to, 'icons/tray'), { recursive: true });
  cpSync(join(icons, 'linux/256x256.png'), join(to, 'icons/app.png'));
  writeFileSync(
    join(to, 'package.json'),
    `${JSON.stringify(
      {
        name: 'outrigger-companion',
        productName: 'Outrigger Companion',
        version,
        description,
        license,
        author: 'The Outrigger authors',
        type: 'module',
        main: 'main.js',
        desktopName: 'outrigger-companion.desktop',
      },
      null,
      2,
    )}\n`,
  );
}
