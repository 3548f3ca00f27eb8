export { FairSemaphore } from './fair-semaphore.ts';
export { AiRuns } from './service.ts';
