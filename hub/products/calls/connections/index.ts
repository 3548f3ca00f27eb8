export { CarrierConnections } from './carrier-connections.ts';
export type { ListedConnection } from './carrier-connections.ts';
export { Connections } from './service.ts';
