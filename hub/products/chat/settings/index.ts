export { ChatSettingsService } from './service.ts';
export { completeSettings, readSettings } from './settings.ts';
export { siteKeyOf } from './site-key.ts';
