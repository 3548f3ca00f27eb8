/**
 * The `Exec` line that starts a program with these words, each as the Desktop Entry Specification has it quoted.
 * @throws Error in words of its owner, for a path that no such line can hold.
 */
export const execLine = (program: string, args: readonly string[] = []): string =>
  [...startOf(program), ...args].map(quoteExec).join(' ');

/** GLib looks for the first word before it undoes `%%`, and would not find a program with a `%` in its path; so there a shell is first. */
const startOf = (program: string) => (program.includes('%') ? ['/bin/sh', '-c', 'exec "$0" "$@"', program] : [program]);

/**
 * A word of an `Exec` line: in double quotes with `"`, backtick, `$` and backslash escaped, `%` doubled as field codes begin with it, and all backslashes
 * doubled once more, since the value itself is a string with escapes.
 */
function quoteExec(word: string): string {
  if (/[\n\r\t\0]/.test(word))
    throw new Error(
      `${JSON.stringify(word)} can't be started by a desktop: it has a line break or tab; rename its folder.`,
    );
  const quoted = `"${word.replaceAll(/["`$\\]/g, String.raw`\$&`).replaceAll('%', '%%')}"`;
  return quoted.replaceAll('\\', '\\\\');
}
