export { chatTopicFamily, createChatChanges } from './changes.ts';
export type { ChatChange, ChatChanges } from './changes.ts';
