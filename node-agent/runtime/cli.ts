#!/usr/bin/env node
import { CommanderError } from 'commander';
import { visibleLine } from '../../shared/visible-text.ts';
import { asTyped } from './cli/context.ts';
import { CompanionError } from './data-folder.ts';
import { HubError } from './hub-error.ts';
import { program } from './program.ts';

// Node opens its inspector on SIGUSR1. A program that a workflow started could then run code as the companion.
process.on('SIGUSR1', () => undefined);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else {
    const message =
      error instanceof CompanionError || error instanceof HubError
        ? error.message
        : `internal error: ${(error as Error).message}`;
    process.stderr.write(`outrigger-companion: ${visibleLine(asTyped(message))}\n`);
    process.exit(error instanceof CompanionError ? error.exitCode : 1);
  }
}
