export { chatTopicFamily, publishChatChange, publishPresence } from './changes.ts';
export type { ChatChange } from './changes.ts';
