import { settingsSchema } from '../../shared/companion/settings.ts';
import { hostOfPattern } from './commands/browser/navigation-policy.ts';

/** What the owner of this machine allows, in `settings.json` of the data folder. */
export const localSettings = settingsSchema((pattern) => hostOfPattern(pattern) !== null);
