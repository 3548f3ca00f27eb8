export { Packs } from './service.ts';
