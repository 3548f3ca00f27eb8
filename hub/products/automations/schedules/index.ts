export { firstFire, previewFires, scheduleProblem } from './due.ts';
export { Schedules, scheduleOf } from './service.ts';
