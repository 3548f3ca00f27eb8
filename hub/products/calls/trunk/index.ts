export { createOwnTrunk } from './own-trunk.ts';
export type { OwnTrunk, TrunkSettings } from './own-trunk.ts';
export { wakeTrunks } from './trunk-keeper.ts';
