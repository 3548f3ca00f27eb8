import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';

/**
 * Makes git run the hooks of this folder. Does nothing in CI, without git, outside a checkout, and when the checkout
 * already has hooks of its own.
 */
const git = (...args) => execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();

function hasOwnHooks() {
  const folder = git('rev-parse', '--git-path', 'hooks');
  return existsSync(folder) && readdirSync(folder).some((name) => !name.endsWith('.sample'));
}

if (!process.env['CI'] && existsSync('.git')) {
  try {
    if (!hasOwnHooks()) git('config', 'core.hooksPath', '.githooks');
  } catch (error) {
    process.stderr.write(`The hooks of git are not installed: ${error.message.split('\n')[0]}\n`);
  }
}
