export type { ChatChanges } from './changes.ts';
