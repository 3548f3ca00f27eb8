export { Assignment, awaySeconds } from './assignment.ts';
