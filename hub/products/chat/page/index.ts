export { chatPages } from './chat-pages.ts';
