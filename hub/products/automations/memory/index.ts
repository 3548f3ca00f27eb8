export { createMemory } from './memory.ts';
