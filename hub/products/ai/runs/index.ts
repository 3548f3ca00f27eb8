export { FairPlaces } from './fair-places.ts';
export { AiRuns } from './service.ts';
