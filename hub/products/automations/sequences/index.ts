export { Sequences } from './sequences.ts';
