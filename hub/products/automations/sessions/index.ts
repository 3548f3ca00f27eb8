export { appendMessage, conversationPort, ensureSession, Sessions } from './sessions.ts';
