// The bundler replaces these constants. Without a bundle they are undefined.
declare const OUTRIGGER_UPDATE_KEYS: string;
declare const OUTRIGGER_UPDATE_FEED: string;

/** Public keys that verify updates, and the address of the update feed. Empty if the build has none. */
export const updateKeys = typeof OUTRIGGER_UPDATE_KEYS === 'string' ? OUTRIGGER_UPDATE_KEYS : '';
export const updateFeedUrl = typeof OUTRIGGER_UPDATE_FEED === 'string' ? OUTRIGGER_UPDATE_FEED : '';
