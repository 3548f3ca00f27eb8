export { depthHeader, runHeader, Deliveries } from './deliveries.ts';
