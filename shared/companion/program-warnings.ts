const shells = /^(?:ba|da|z|k|c|tc|fi)?sh$|^busybox$|^pwsh$|^powershell$|^cmd$/;
const inlineOptions: readonly (readonly [program: RegExp, option: RegExp])[] = [
  [shells, /^-[a-z]*c$|^\/c$|^-(?:Encoded)?Command$/i],
  [/^(?:python|pypy)[0-9.]*$/, /^-[a-z]*c$/i],
  [/^(?:node|bun|deno)$/, /^(?:-e|-p|-pe|--eval|--print|eval)/],
  [/^(?:perl|ruby|lua|php)[0-9.]*$/, /^-[a-z]*[eErR]/],
];
const starters = /^(?:env|xargs|nohup|setsid|sudo|doas|nice|time|timeout|stdbuf)$/;

const nameOf = (word: string) => (word.split(/[/\\]/).at(-1) as string).replace(/\.exe$/i, '');

/** The words in which a program may be started: the first one, or all words after a starter such as `timeout`. */
function programWords(argv: readonly string[]): readonly string[] {
  if (!starters.test(nameOf(argv[0] ?? ''))) return argv;
  // `env -S` splits a word at its spaces.
  return argv.flatMap((word) => word.replace(/^(?:-S|--split-string=)/, '').split(/\s+/));
}

/** Warnings for the owner about a command line whose arguments contain code. */
export function programWarnings(argv: readonly string[]): string[] {
  const words = programWords(argv);
  const first = words === argv ? 0 : words.length - 1;
  const names = new Set<string>();
  /** Whether an option of each group stands behind the present word. The time is linear in the number of words. */
  const isFollowed = inlineOptions.map(() => false);
  for (let at = words.length - 1; at >= 0; at -= 1) {
    const word = words[at] as string;
    const name = nameOf(word);
    if (at <= first && inlineOptions.some(([program], group) => isFollowed[group] === true && program.test(name)))
      names.add(name);
    for (const [group, [, option]] of inlineOptions.entries()) if (option.test(word)) isFollowed[group] = true;
  }
  return [...names]
    .toReversed()
    .map(
      (name) =>
        `${name} runs code that is in its arguments: read all of it. The code can do everything that you can do on this machine.`,
    );
}
