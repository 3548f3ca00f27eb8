#!/usr/bin/env node
import { launch } from '../shared/launcher/launch.js';

const [command, ...options] = process.argv.slice(2);
// V8 lets the young generation grow to 3 x 16 MiB for each of its spaces, which an idle hub never gives back.
if (command === 'start')
  await launch(new URL('main.ts', import.meta.url), options, { flags: ['--max-semi-space-size=8'], threads: true });
else await launch(new URL('cli/cli.ts', import.meta.url), process.argv.slice(2));
