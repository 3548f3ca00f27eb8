import { basename, dirname } from 'node:path';

/** Whether the shell finds the commands, as after a global installation. Otherwise `npx` finds them. */
const isOnPath = basename(dirname(process.argv[1] ?? '')) === 'bin';

/** Commands of the hub and the companion as its users type them, for messages and pages. */
export const commandLines = isOnPath
  ? { start: 'outrigger start', hub: 'outrigger', companion: 'npx outrigger-companion' }
  : { start: 'npx outrigger start', hub: 'npx outrigger', companion: 'npx outrigger-companion' };
