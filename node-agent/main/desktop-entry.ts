/**
 * The `Exec` line that starts a program with these arguments, quoted as the Desktop Entry Specification requires.
 * @throws Error with a message for the owner if a path cannot be quoted.
 */
export const execLine = (program: string, args: readonly string[] = []): string =>
  [...startOf(program), ...args].map(quoteExec).join(' ');

/** GLib looks up the program before it replaces `%%` by `%`, so a path with `%` is started through a shell. */
const startOf = (program: string) => (program.includes('%') ? ['/bin/sh', '-c', 'exec "$0" "$@"', program] : [program]);

/**
 * Quotes one argument: double quotes, with `"`, backtick, `$` and backslash escaped. `%` is doubled because it starts
 * field codes. All backslashes are doubled again, because the value itself is a string with escapes.
 */
function quoteExec(arg: string): string {
  if (/[\n\r\t\0]/.test(arg))
    throw new Error(
      `${JSON.stringify(arg)} can't be started by a desktop, because it has a line break or tab. Rename its folder.`,
    );
  const quoted = `"${arg.replaceAll(/["`$\\]/g, String.raw`\$&`).replaceAll('%', '%%')}"`;
  return quoted.replaceAll('\\', '\\\\');
}
