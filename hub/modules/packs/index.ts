export { Packs } from './service.ts';
export type { SdkSkill } from './service.ts';
