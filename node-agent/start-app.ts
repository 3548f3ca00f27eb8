import { spawn } from 'node:child_process';

/** Arguments that open no window, or accept a window without a sandbox. */
const needsNoSandbox = ['--no-sandbox', '--pause', '--unpair'];

const args = process.argv.slice(2);
// Otherwise Chromium aborts with a FATAL line before any code of the app runs.
if (process.getuid?.() === 0 && !args.some((arg) => needsNoSandbox.includes(arg))) {
  process.stderr.write(
    'outrigger-companion: as root the window has no sandbox, so it does not open. Start it as the user whose machine this is, or use the companion without a window: npx outrigger-companion run (npm run app -- --no-sandbox opens the window anyway).\n',
  );
  process.exit(2);
}
// In Node, the default export of the package is the path of the program. Importing it downloads a missing program.
const { default: electron } = await import('electron');
const child = spawn(electron as unknown as string, ['.', ...args], { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  process.stderr.write(`outrigger-companion: Electron does not start: ${error.message}\n`);
  process.exitCode = 1;
});
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === null ? 1 : 128);
});
