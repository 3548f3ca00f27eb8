import { settingsSchema } from '../../shared/companion/settings.ts';
import { parsePrivateEntry } from './commands/browser/addresses.ts';
import { hostOfPattern } from './commands/browser/host-patterns.ts';

/** What the owner of this machine allows, in `settings.json` of the data folder. */
export const localSettings = settingsSchema(
  (pattern) => hostOfPattern(pattern) !== null,
  (text) => parsePrivateEntry(text) !== null,
);
