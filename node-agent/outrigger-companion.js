#!/usr/bin/env node
import { launch } from '../shared/launcher/launch.js';

await launch(new URL('runtime/cli.ts', import.meta.url), process.argv.slice(2));
