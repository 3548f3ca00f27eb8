export { foldUsageDays } from './day-sums.ts';
export { UsageEvents } from './service.ts';
