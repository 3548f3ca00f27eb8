export { firstFire, previewFires, scheduleProblem } from './due.ts';
export { scheduleOf } from './fires.ts';
export { Schedules } from './service.ts';
