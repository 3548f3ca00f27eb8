export { Assignment, awaySeconds } from './assignment.ts';
export { AssignmentUpkeep } from './upkeep.ts';
