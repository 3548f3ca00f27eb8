export { HubPacks } from './hub-packs.ts';
export { Packs } from './service.ts';
