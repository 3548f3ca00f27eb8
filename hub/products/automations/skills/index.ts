export { ApprovedSkills } from './approved.ts';
export { Skills } from './service.ts';
