// The bundler puts values in their place; where there is no bundle, nothing declares them.
declare const OUTRIGGER_UPDATE_KEYS: string;
declare const OUTRIGGER_UPDATE_FEED: string;

/** What a release was built with: the public keys that sign its updates, and where they are announced. Empty where it was built without. */
export const updateKeys = typeof OUTRIGGER_UPDATE_KEYS === 'string' ? OUTRIGGER_UPDATE_KEYS : '';
export const updateFeedUrl = typeof OUTRIGGER_UPDATE_FEED === 'string' ? OUTRIGGER_UPDATE_FEED : '';
