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
  const warnings: string[] = [];
  for (const [index, word] of argv.entries()) {
    const name = nameOf(word);
    if (
      inlineOptions.some(
        ([program, option]) => program.test(name) && argv.slice(index + 1).some((next) => option.test(next)),
      )
    )
      warnings.push(
        `${name} runs code that is in its arguments: read all of it. The code can do everything that you can do on this machine.`,
      );
    // A later word is a program only after a word that starts other programs.
    if (!starters.test(name)) break;
  }
  return warnings;
}
