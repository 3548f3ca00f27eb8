/** Joins a program and its arguments to one line. Words that need it are quoted, with JSON escapes. */
export const commandLine = (argv: readonly string[]): string =>
  argv.map((word) => (/^[^\s"'\\]+$/.test(word) ? word : JSON.stringify(word))).join(' ');
