export { completeSettings, readSettings } from './settings.ts';
