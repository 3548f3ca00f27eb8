export { assertMaySpeak, Speaking } from './speaking.ts';
