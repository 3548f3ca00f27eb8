/**
 * What a build puts in the place of the constants of `main/updates/build-values.ts`, for the bundler's `define`. Without a key there are no updates; that is
 * what a build from these sources is, unless whoever makes it names their own.
 */
export function buildValues(environment: NodeJS.ProcessEnv): Record<string, string> {
  return {
    OUTRIGGER_UPDATE_KEYS: JSON.stringify(environment['OUTRIGGER_UPDATE_KEYS'] ?? ''),
    OUTRIGGER_UPDATE_FEED: JSON.stringify(environment['OUTRIGGER_UPDATE_FEED'] ?? ''),
  };
}
