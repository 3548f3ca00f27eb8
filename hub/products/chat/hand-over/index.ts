export { HandOver } from './hand-over.ts';
