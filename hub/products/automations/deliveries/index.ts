export { depthHeader, runHeader, createDeliveries } from './deliveries.ts';
