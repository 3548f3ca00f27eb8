const shells = /^(?:ba|da|z|k|c|tc|fi)?sh$|^busybox$|^pwsh$|^powershell$|^cmd$/;
const inlineOptions: readonly (readonly [program: RegExp, option: RegExp])[] = [
  [shells, /^-[a-z]*c$|^\/c$|^-(?:Encoded)?Command$/i],
  [/^(?:python|pypy)[0-9.]*$/, /^-[a-z]*c$/i],
  [/^(?:node|bun|deno)$/, /^(?:-e|-p|-pe|--eval|--print|eval)/],
  [/^(?:perl|ruby|lua|php)[0-9.]*$/, /^-[a-z]*[eErR]/],
];
const starters = /^(?:env|xargs|nohup|setsid|sudo|doas|nice|time|timeout|stdbuf)$/;

const nameOf = (word: string) => (word.split(/[/\\]/).at(-1) as string).replace(/\.exe$/i, '');

/** Warnings for the owner about a command line whose arguments contain code. */
export function programWarnings(argv: readonly string[]): string[] {
  // After a starter such as `timeout`, each word can be an option of the starter or the program that it starts.
  const isStarter = starters.test(nameOf(argv[0] ?? ''));
  // `env -S` splits a word at its spaces.
  const words = isStarter ? argv.flatMap((word) => word.split(/\s+/)) : argv;
  const names = (isStarter ? words : words.slice(0, 1))
    .map(nameOf)
    .filter((name, index) =>
      inlineOptions.some(
        ([program, option]) => program.test(name) && words.slice(index + 1).some((next) => option.test(next)),
      ),
    );
  return [...new Set(names)].map(
    (name) =>
      `${name} runs code that is in its arguments: read all of it. The code can do everything that you can do on this machine.`,
  );
}
