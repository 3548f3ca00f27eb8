export { changeAiSettings, readAiSettings, readAiSettingsAuthors } from './ai-settings.ts';
export type { AiSettingsNow } from './ai-settings.ts';
export { ChatSettingsService } from './service.ts';
export { completeSettings, readSettings } from './settings.ts';
export { siteKeyOf } from './site-key.ts';
