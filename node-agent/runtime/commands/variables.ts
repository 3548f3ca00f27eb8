import { allowedVariable } from '../../../shared/companion/settings.ts';

/**
 * The environment variables that a workflow may set for an approved program. A variable can make a program load other
 * code or trust another server. No list of such variables is complete, so a variable is refused unless its name is
 * known to be harmless or the owner allowed it.
 */

/** Data for the program, named like the inputs of GitHub Actions. No loader, shell or interpreter reads these names. */
const dataName = /^INPUT_\w+$/;

/** Language, time zone and terminal: the variables that OpenSSH servers commonly accept, and similar switches. */
const localeName = /^(?:LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLORTERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CI)$/;

/**
 * Locales, time zones and terminals can be file names. Refuses an absolute path, a parent folder, and characters that
 * the name of a locale, time zone or terminal does not contain.
 */
const unsafeLocaleValue = /(?:^|:)\/|\.\.|[^\w.,:@+<>/-]/;

/**
 * Why a workflow may not set these variables, with the remedy; null when it may.
 * @param allowed Names that the owner allowed. On Windows, the case of a name has no meaning.
 */
export function variableProblem(
  env: Record<string, string>,
  allowed: readonly string[],
  platform: NodeJS.Platform = process.platform,
): string | null {
  const normalize = (name: string) => (platform === 'win32' ? name.toUpperCase() : name);
  const ownerNames = new Set(allowed.map(normalize));
  for (const [given, value] of Object.entries(env)) {
    const name = normalize(given);
    if (ownerNames.has(name) || dataName.test(name)) continue;
    if (!allowedVariable.safeParse(given).success)
      return `The variable ${given} cannot be set: names that begin with OUTRIGGER_ belong to the companion. Pass data in a variable whose name begins with INPUT_.`;
    const remedy = `The owner of this machine allows it with: outrigger-companion variables allow ${given}`;
    if (!localeName.test(name))
      return `The variable ${given} is not allowed on this machine. Pass data in a variable whose name begins with INPUT_. ${remedy}`;
    if (unsafeLocaleValue.test(value))
      return `The value of the variable ${given} is not a plain name such as de_DE.UTF-8 or Europe/Berlin. ${remedy}`;
  }
  return null;
}
