export { Ai } from './models.ts';
