export type { MissedCall } from './incoming.ts';
export { ownTrunkRoutes } from './routes.ts';
export { OwnTrunks } from './service.ts';
export { TrunkKeeper, trunksTopic } from './trunk-keeper.ts';
