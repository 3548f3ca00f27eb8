export { Assignment } from './assignment.ts';
export { AssignmentUpkeep } from './upkeep.ts';
