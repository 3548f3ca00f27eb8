#!/usr/bin/env node
import { CommanderError } from 'commander';
import { visibleText } from '../../shared/visible-text.ts';
import { ArgumentError, explain } from './context.ts';
import { program } from './program.ts';

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else {
    process.stderr.write(`outrigger: ${visibleText(explain(error))}\n`);
    process.exitCode = error instanceof ArgumentError ? 2 : 1;
  }
}
