export { liveRunsAmong, testKeyNotAllowed } from './test-keys.ts';
