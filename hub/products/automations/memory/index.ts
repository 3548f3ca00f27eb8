export { Memory } from './memory.ts';
