/**
 * Values for the constants of `main/updates/build-values.ts`, for the `define` option of the bundler. A build without a
 * key has no updates, which is the default.
 */
export function buildValues(environment: NodeJS.ProcessEnv): Record<string, string> {
  return {
    OUTRIGGER_UPDATE_KEYS: JSON.stringify(environment['OUTRIGGER_UPDATE_KEYS'] ?? ''),
    OUTRIGGER_UPDATE_FEED: JSON.stringify(environment['OUTRIGGER_UPDATE_FEED'] ?? ''),
  };
}
