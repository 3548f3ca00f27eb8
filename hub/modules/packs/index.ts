export { beyondGrants } from './address.ts';
export { Packs } from './service.ts';
export type { SdkSkill } from './service.ts';
