export { Knowledge } from './knowledge.ts';
export { createKnowledge } from './product.ts';
export type { KnowledgeSettings } from './product.ts';
